//! YAML 1.2 into the node table.

pub(crate) fn number(_s: &str) -> Option<f64> {
    None
}
