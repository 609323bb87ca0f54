//! The list of dialects that planwright knows. A new one is one line here, one folder of code and one of fixtures.

use std::ops::Deref;
use std::sync::OnceLock;

use super::{Dialect, aimi, checklist, clido, opencrabs, rawko, task_pack};

static BUILT_IN: &[&dyn Dialect] = &[
    &opencrabs::OpenCrabs,
    &clido::Clido,
    &aimi::Aimi,
    &task_pack::TaskPack,
    &rawko::Rawko,
    &checklist::Checklist,
];

/// The dialects that planwright knows.
pub static DIALECTS: &Registry = &REGISTRY;

static REGISTRY: Registry = Registry(OnceLock::new());

/// The default dialect of new plans.
pub static DEFAULT: &dyn Dialect = &checklist::Checklist;

/// A list of dialects. It never changes in the product.
pub struct Registry(OnceLock<Vec<&'static dyn Dialect>>);

impl Registry {
    /// Adds a dialect to the built-in ones, once per process: tests use it to run another dialect through the product.
    pub fn add(&self, dialect: &'static dyn Dialect) {
        self.0
            .get_or_init(|| BUILT_IN.iter().copied().chain([dialect]).collect());
    }
}

impl Deref for Registry {
    type Target = [&'static dyn Dialect];

    fn deref(&self) -> &Self::Target {
        self.0.get().map_or(BUILT_IN, Vec::as_slice)
    }
}

impl IntoIterator for &'static Registry {
    type Item = &'static &'static dyn Dialect;
    type IntoIter = std::slice::Iter<'static, &'static dyn Dialect>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Returns a dialect by name.
pub fn find(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name() == name)
}
