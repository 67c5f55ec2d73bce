//! The front door from outside: an axum service behind the layer, over the memory store, mostly in virtual time.

mod claim;
mod context;
mod draft;
mod fixture;
mod kept;
mod outlive;
mod store;
