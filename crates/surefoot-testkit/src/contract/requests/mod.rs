//! The contract of [`surefoot_core::port::Requests`]: what the port promises, as cases that any store must pass. A case is
//! given an empty store of its own, knows only the port, and panics with the promise that does not hold.
//! [`requests_contract!`](crate::requests_contract) makes a test of each.

pub mod begin;
pub mod due;
mod fixture;
pub mod forget;
pub mod list;
pub mod race;
pub mod record;
pub mod write;

/// Makes a test of every case of the [contract of requests](crate::contract::requests) over the stores that `open` gives.
///
/// `open` is an `async fn(case: &'static str) -> Arc<dyn Requests>`: each call gives a store that holds nothing and that no
/// other case sees. What must live as long as the store is kept by the store itself. The calling crate needs `tokio` with
/// `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! requests_contract {
    ($open:ident) => {
        $crate::requests_contract! { @family $open begin
            a_key_is_claimed_once
            what_was_asked_is_on_record
            the_same_arrival_repeated_runs
            each_state_has_its_answer
            what_is_released_runs_again_under_the_next_epoch
            what_lapsed_does_not_run_again
            tenants_and_keys_are_apart
            the_longest_texts_are_kept
        }
        $crate::requests_contract! { @family $open due
            what_lapsed_or_is_to_be_asked_about_is_found
            the_longest_due_is_found_first_and_no_more_than_asked
            what_was_put_off_is_not_due
        }
        $crate::requests_contract! { @family $open forget
            an_answer_leaves_at_the_end_of_its_retention
            a_key_is_free_when_its_tombstone_is_over
            what_is_open_is_never_forgotten
            what_was_released_is_forgotten_too
            it_goes_in_steps_the_oldest_first
            a_late_write_to_a_forgotten_request_changes_nothing
            it_runs_beside_arrivals_and_beside_itself
        }
        $crate::requests_contract! { @family $open list
            an_empty_store_has_nothing
            the_latest_come_first_in_pages
            every_filter_that_is_set_must_match
            a_page_is_bounded
            a_request_is_found_by_its_id
            what_is_open_is_counted
        }
        $crate::requests_contract! { @family $open race
            one_of_a_hundred_arrivals_runs
            one_of_a_hundred_arrivals_runs_after_a_release
            all_of_a_hundred_arrivals_get_the_answer
            many_keys_at_once_run_once_each
            repeats_of_one_arrival_are_one_claim
            a_finish_and_a_lapse_at_once_have_one_winner
            of_two_witnesses_the_first_counts
            of_two_nodes_one_asks
        }
        $crate::requests_contract! { @family $open record
            each_state_reads_back
            bodies_are_kept_byte_for_byte
            headers_are_kept_byte_for_byte
            tombstones_are_kept
            witnesses_and_disputes_are_kept
        }
        $crate::requests_contract! { @family $open write
            a_write_applies_when_it_follows
            a_repeated_write_is_already
            a_write_that_does_not_follow_changes_nothing
            a_stale_epoch_changes_nothing
            a_write_without_a_request_changes_nothing
            what_was_asked_never_changes
        }
    };
    (@family $open:ident $family:ident $($case:ident)*) => {
        mod $family {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    let name = concat!("requests::", stringify!($family), "::", stringify!($case));
                    let store = super::$open(name).await;
                    tokio::time::timeout(
                        $crate::contract::CASE_TIME_MAX,
                        $crate::contract::requests::$family::$case(store),
                    )
                    .await
                    .expect("the case ends in time");
                }
            )*
        }
    };
}
