//! Tests of all outputs: their text, the structure of plots, and their conversion to PNG. Whether a chart looks good is
//! not tested: a person must judge the charts of a report (`inferometer report`).

#[path = "../support/mod.rs"]
mod support;

#[cfg(test)]
mod ab_charts;
#[cfg(test)]
mod charts;
#[cfg(test)]
mod comparison;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod drawn;
#[cfg(test)]
mod drawn_text;
#[cfg(test)]
mod load_charts;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod page_text;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod plots;
mod published;
#[cfg(test)]
mod search_charts;
#[cfg(test)]
mod tables;
