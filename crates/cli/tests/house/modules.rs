//! Finds the references between the modules of a crate in its source files.
//!
//! A path is followed through re-exports to the module that defines the named item. So an import through a parent
//! module counts as an import from the file that defines the item.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// A module as the names on the path from the crate's root. The root has an empty path.
pub type Module = Vec<String>;

/// The references between the modules of a crate.
#[derive(Default)]
pub struct Modules {
    /// The paths in the file of each module that may lead to another module, as written there.
    named: BTreeMap<Module, Vec<Vec<String>>>,
    /// The re-exports of each module: the name, and the path that it stands for.
    handed_on: BTreeMap<Module, Vec<(String, Vec<String>)>>,
}

impl Modules {
    /// Reads the files below a crate's `src`, except those of tests and fixtures.
    pub fn read(src: &Path) -> Self {
        let mut modules = Self::default();
        for file in crate::rust_files(src) {
            let module = module_of(file.strip_prefix(src).expect("below src"));
            if module.iter().any(|name| ["tests", "fixture"].contains(&name.as_str())) {
                continue;
            }
            let text = fs::read_to_string(&file).expect("a source file");
            let parsed =
                syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let mut names = Names::default();
            names.visit_file(&parsed);
            // A library and a binary may be in the same folder. The root module then has the paths of both.
            modules.named.entry(module.clone()).or_default().extend(names.named);
            modules.handed_on.entry(module).or_default().extend(names.handed_on);
        }
        modules
    }

    /// One description for each module whose children form cycles. A child includes all modules below it. The
    /// description has an example of every reference in these cycles, and of those that lead to them.
    pub fn cycles(&self) -> Vec<String> {
        let arrows = self.arrows();
        let parents: BTreeSet<&[String]> =
            self.named.keys().filter_map(|module| module.split_last()).map(|(_, up)| up).collect();
        parents.into_iter().filter_map(|parent| cycle_below(parent, &arrows)).collect()
    }

    fn arrows(&self) -> Vec<(&Module, Module)> {
        let mut arrows = Vec::new();
        for (from, named) in &self.named {
            for path in named {
                if let Some(to) = self.defining(from, path, 0).filter(|to| to != from) {
                    arrows.push((from, to));
                }
            }
        }
        arrows
    }

    /// The module that defines the item of a path in the module `of`; None if the item is outside of the crate.
    fn defining(&self, of: &Module, path: &[String], depth: usize) -> Option<Module> {
        let (mut at, mut rest) = match path.first()?.as_str() {
            "crate" => (Module::new(), &path[1..]),
            "self" => (of.clone(), &path[1..]),
            "super" => {
                let ups = path.iter().take_while(|name| *name == "super").count();
                (of[..of.len().checked_sub(ups)?].to_vec(), &path[ups..])
            }
            name => {
                let child: Module = of.iter().cloned().chain([name.to_owned()]).collect();
                if !self.named.contains_key(&child) {
                    return None;
                }
                (of.clone(), path)
            }
        };
        while let Some(name) = rest.first() {
            let child: Module = at.iter().cloned().chain([name.clone()]).collect();
            if self.named.contains_key(&child) {
                (at, rest) = (child, &rest[1..]);
                continue;
            }
            let on = self.handed_on.get(&at)?.iter().find(|(as_name, _)| as_name == name);
            let Some((_, target)) = on.filter(|_| depth < 8) else { break };
            let target: Vec<String> = target.iter().chain(&rest[1..]).cloned().collect();
            return self.defining(&at, &target, depth + 1).or(Some(at));
        }
        Some(at)
    }
}

fn module_of(file: &Path) -> Module {
    let mut names: Module =
        file.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        names.pop();
    }
    names
}

fn cycle_below(parent: &[String], arrows: &[(&Module, Module)]) -> Option<String> {
    let child = |module: &Module| {
        module.starts_with(parent).then(|| module.get(parent.len()).cloned()).flatten()
    };
    let mut next: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (from, to) in arrows {
        if let (Some(a), Some(b)) = (child(from), child(to))
            && a != b
        {
            let example = format!("{} -> {}", from.join("::"), to.join("::"));
            next.entry(a).or_default().entry(b).or_insert(example);
        }
    }
    // Modules that import nothing are removed repeatedly. At the end, no module is left, or only cycles and the modules
    // that lead to them.
    loop {
        let free = next.keys().find(|name| next[*name].is_empty()).cloned();
        let leaf = next.values().flat_map(BTreeMap::keys).find(|name| !next.contains_key(*name));
        match (free, leaf.cloned()) {
            (Some(gone), _) => drop(next.remove(&gone)),
            (None, Some(gone)) => next.values_mut().for_each(|names| drop(names.remove(&gone))),
            (None, None) => break,
        }
    }
    if next.is_empty() {
        return None;
    }
    let examples: Vec<&str> =
        next.values().flat_map(BTreeMap::values).map(String::as_str).collect();
    Some(format!("below `{}`: {}", parent.join("::"), examples.join(", ")))
}

/// The paths in a file, and its re-exports. Only paths in `use` items, and paths that begin with `crate` or `super`,
/// are collected. Modules, imports, functions and `impl` blocks under `#[cfg(test)]` are left out.
#[derive(Default)]
struct Names {
    named: Vec<Vec<String>>,
    handed_on: Vec<(String, Vec<String>)>,
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_handed_on = !matches!(item.vis, Visibility::Inherited);
        self.add_tree(&item.tree, &mut Vec::new(), is_handed_on);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if names.first().is_some_and(|first| ["crate", "super"].contains(&first.as_str())) {
            self.named.push(names);
        }
        visit::visit_path(self, path);
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        self.add_words(&list.tokens.to_string());
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.add_words(&called.tokens.to_string());
    }
}

impl Names {
    /// Adds paths in unparsed text: the arguments of attributes and macros.
    fn add_words(&mut self, tokens: &str) {
        let joined = tokens.replace(" ::", "::").replace(":: ", "::");
        for word in joined.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
            let names: Vec<String> = word.split("::").map(str::to_owned).collect();
            if names.len() > 1 && ["crate", "super"].contains(&names[0].as_str()) {
                self.named.push(names);
            }
        }
    }

    fn add_tree(&mut self, tree: &UseTree, above: &mut Vec<String>, is_handed_on: bool) {
        let mut leaf = |name: String, as_name: String| {
            let mut path = above.clone();
            if name != "self" && name != "*" {
                path.push(name);
            }
            if is_handed_on {
                self.handed_on.push((as_name, path.clone()));
            }
            self.named.push(path);
        };
        match tree {
            UseTree::Name(name) => leaf(name.ident.to_string(), name.ident.to_string()),
            UseTree::Rename(name) => leaf(name.ident.to_string(), name.rename.to_string()),
            UseTree::Glob(_) => leaf("*".to_owned(), "*".to_owned()),
            UseTree::Path(path) => {
                above.push(path.ident.to_string());
                self.add_tree(&path.tree, above, is_handed_on);
                above.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(tree, above, is_handed_on);
                }
            }
        }
    }
}

/// Whether an attribute is `#[cfg(test)]`.
fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
}
