//! A tree of prompts: each path from the root is the beginning of a prompt. So the ids of a beginning are stored only
//! once, in however many prompts it occurs.

use std::collections::HashMap;

/// The root, which stands for the empty prompt.
pub const ROOT: u32 = 0;

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    id: u64,
    parent: u32,
    depth: u32,
    /// The child that was added first; the root if there is none. Most nodes have only this one.
    first: u32,
}

/// The tree. Node numbers rise with the order in which they were added.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    /// The nodes by parent and id, except first children. If ids are chained, all nodes by their id.
    index: HashMap<(u32, u64), u32>,
    /// Whether an id names the whole prompt up to its block, and not only the block.
    pub is_chained: bool,
}

impl Default for Tree {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], index: HashMap::new(), is_chained: false }
    }
}

impl Tree {
    /// The child of a node with this id, which is added if it is new. None if ids are chained, and this one is known as
    /// the child of another node.
    pub fn child(&mut self, parent: u32, id: u64) -> Option<u32> {
        let Node { first, depth, .. } = self.nodes[parent as usize];
        if first != ROOT && self.nodes[first as usize].id == id {
            return Some(first);
        }
        let key = (if self.is_chained { u32::MAX } else { parent }, id);
        if let Some(&found) = self.index.get(&key) {
            return (self.nodes[found as usize].parent == parent).then_some(found);
        }
        let new = self.nodes.len() as u32;
        self.nodes.push(Node { id, parent, depth: depth + 1, first: ROOT });
        if first == ROOT {
            self.nodes[parent as usize].first = new;
        }
        if first != ROOT || self.is_chained {
            self.index.insert(key, new);
        }
        Some(new)
    }

    /// The number of nodes, with the root.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The number of steps from the root.
    pub fn depth(&self, node: u32) -> u32 {
        self.nodes[node as usize].depth
    }

    /// The parent of a node; the root for the root.
    pub fn parent(&self, node: u32) -> u32 {
        self.nodes[node as usize].parent
    }

    /// Whether prompts go on after this node.
    pub fn goes_on(&self, node: u32) -> bool {
        self.nodes[node as usize].first != ROOT
    }

    /// The number of nodes that the paths to two nodes have in common.
    pub fn shared(&self, mut one: u32, mut other: u32) -> u32 {
        while one != other {
            if self.depth(one) < self.depth(other) {
                std::mem::swap(&mut one, &mut other);
            }
            one = self.parent(one);
        }
        self.depth(one)
    }

    /// The nodes on the path to a node, without the root.
    pub fn path(&self, mut node: u32) -> Vec<u32> {
        let mut path = Vec::with_capacity(self.depth(node) as usize);
        while node != ROOT {
            path.push(node);
            node = self.parent(node);
        }
        path.reverse();
        path
    }
}
