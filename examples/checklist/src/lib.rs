//! The API of a small shop.

pub mod api;
