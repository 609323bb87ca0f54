//! What users see: findings as text, JSON, SARIF and annotations; plans as text, Mermaid and DOT; runs as they go.

pub(crate) mod diff;
pub(crate) mod dot;
pub(crate) mod github;
pub(crate) mod human;
pub(crate) mod mermaid;
#[cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "`planwright run` is not there yet")
)]
pub(crate) mod run;
pub(crate) mod sarif;
pub(crate) mod terminal;
pub(crate) mod wire;
pub(crate) mod written;
