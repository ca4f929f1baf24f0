//! What people and machines get to read, checked as text. Never checks how it looks: the example
//! `gallery` writes plots for eyes.

#[path = "../support/mod.rs"]
mod support;

#[cfg(test)]
mod charts;
#[cfg(test)]
mod comparison;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod drawn_text;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod plots;
mod published;
#[cfg(test)]
mod search_charts;
#[cfg(test)]
mod tables;
