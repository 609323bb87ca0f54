//! The API of a small shop.

pub mod api;
pub mod headers;
pub mod limit;
pub mod refuse;
