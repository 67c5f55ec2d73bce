//! The snippets of `docs/guide`, compiled and run by `cargo test --doc -p guide`. A page with a snippet that no longer holds
//! does not pass. There is no code here on purpose.

#[doc = include_str!("../../../docs/guide/when-to-queue.md")]
pub mod when_to_queue {}

#[doc = include_str!("../../../docs/guide/keys.md")]
pub mod keys {}

#[doc = include_str!("../../../docs/guide/what-to-retry.md")]
pub mod what_to_retry {}

#[doc = include_str!("../../../docs/guide/how-long-a-time-out.md")]
pub mod how_long_a_time_out {}

#[doc = include_str!("../../../docs/guide/what-a-time-out-means.md")]
pub mod what_a_time_out_means {}

#[doc = include_str!("../../../docs/guide/dead-letters.md")]
pub mod dead_letters {}

#[doc = include_str!("../../../docs/guide/parked-messages.md")]
pub mod parked_messages {}

#[doc = include_str!("../../../docs/guide/one-layer.md")]
pub mod one_layer {}

#[doc = include_str!("../../../docs/guide/which-time-out-above-which.md")]
pub mod which_time_out_above_which {}
