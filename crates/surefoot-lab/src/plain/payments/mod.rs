//! A payment service as such services are written, in the two forms that the experiment needs: one that looks for the key
//! and then charges, and one that only charges because a front door stands before it.
//!
//! `POST /payments` with `{"amount": N}` and an `Idempotency-Key` answers 201 with the charge.

mod service;
mod table;

pub use service::{Manner, PaymentOptions, serve};
