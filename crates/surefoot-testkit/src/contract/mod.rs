//! The store contract: what [`surefoot_core::port::Store`] promises, as cases that any store must pass. A case
//! knows only the port; it must never lean on how one store does it.
//!
//! A case is `pub async fn name(store: Arc<dyn Store>)`, is given an empty store of its own, and panics with the
//! invariant that does not hold. [`store_contract!`](crate::store_contract) makes a test of each.
#![expect(
    clippy::expect_used,
    reason = "a case is a test: it fails by a panic that says what it expected"
)]
#![expect(
    missing_docs,
    reason = "the name of a case is the sentence that it proves"
)]

pub mod claim;
pub mod enqueue;
pub mod extend;
pub mod fence;
mod fixture;
pub mod lapse;
pub mod settle;

/// The longest that one case may take, so that a deadlock is a failure and not a test that never ends.
pub const CASE_TIME_MAX: std::time::Duration = std::time::Duration::from_secs(180);

/// Makes a test of every case of the [store contract](crate::contract) over the stores that `open` gives.
///
/// `open` is an `async fn(case: &'static str) -> Arc<dyn Store>`: each call gives a store that holds nothing and
/// that no other case sees. `case` is the name of the case, such as `claim::kinds_are_filtered`. What must live
/// as long as the store (a temporary folder, a schema that is dropped) is kept by the store itself.
/// The calling crate needs `tokio` with `macros` and `rt-multi-thread`.
///
/// ```ignore
/// async fn open(case: &'static str) -> Arc<dyn Store> { .. }
/// surefoot_testkit::store_contract!(open);
/// ```
#[macro_export]
macro_rules! store_contract {
    ($open:ident) => {
        $crate::store_contract! { @family $open claim
            a_claimed_job_runs_under_the_terms
            a_running_job_is_not_claimed_again
            kinds_are_filtered
            a_job_in_the_future_waits_and_says_when
            higher_priority_then_due_time_then_age
        }
        $crate::store_contract! { @family $open enqueue
            a_job_reads_back_as_it_came
            a_key_is_one_job
            the_same_call_repeated_is_created
            keys_count_within_one_batch
        }
        $crate::store_contract! { @family $open extend
            a_lease_is_extended_and_never_shortened
            a_lost_lease_is_told
        }
        $crate::store_contract! { @family $open fence
            a_stale_settlement_changes_nothing
            a_repeated_settlement_is_already
        }
        $crate::store_contract! { @family $open lapse
            lapsed_jobs_are_found_longest_ended_first
            an_extended_lease_is_not_settled_as_lost
            a_finished_job_is_not_settled_as_lost
        }
        $crate::store_contract! { @family $open settle
            each_next_state_is_applied
            settling_and_claiming_in_one_call
        }
    };
    (@family $open:ident $family:ident $($case:ident)*) => {
        mod $family {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    let name = concat!(stringify!($family), "::", stringify!($case));
                    let store = super::$open(name).await;
                    tokio::time::timeout($crate::contract::CASE_TIME_MAX, $crate::contract::$family::$case(store))
                        .await
                        .expect("the case ends in time");
                }
            )*
        }
    };
}
