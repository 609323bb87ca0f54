//! Renderers: findings as text, JSON, SARIF and annotations; plans as text, Mermaid and DOT; runs as a display, lines and pages.

pub(crate) mod agent_log;
pub(crate) mod dot;
pub(crate) mod events;
pub(crate) mod findings;
pub(crate) mod github;
pub(crate) mod graph;
pub(crate) mod mermaid;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod sarif;
pub(crate) mod terminal;
pub(crate) mod workflow;
pub(crate) mod wrap;
