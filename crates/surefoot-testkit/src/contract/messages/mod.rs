//! The contract of [`surefoot_core::port::Messages`]: what the port promises, as cases that any store must pass. A case is
//! given an empty store of its own, knows only the port, and panics with the promise that does not hold.
//! [`messages_contract!`](crate::messages_contract) makes a test of each.

pub mod append;
mod fixture;
pub mod forget;
pub mod mark;
pub mod order;
pub mod park;
pub mod race;
pub mod receipt;
pub mod subscribe;
pub mod take;

/// Makes a test of every case of the [contract of messages](crate::contract::messages) over the stores that `open` gives.
///
/// `open` is an `async fn(case: &'static str) -> Arc<dyn Messages>`: each call gives a store that holds nothing and that no
/// other case sees. What must live as long as the store is kept by the store itself. The calling crate needs `tokio` with
/// `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! messages_contract {
    ($open:ident) => {
        $crate::messages_contract! { @family $open append
            a_message_goes_to_each_sink_of_its_topic
            a_repeated_append_is_one_message
            another_message_under_an_id_is_a_conflict
            tenants_have_ids_of_their_own
            what_was_appended_reads_back
            a_batch_keeps_its_order_and_is_bounded
        }
        $crate::messages_contract! { @family $open subscribe
            a_sink_gets_what_is_kept_in_its_order
            a_sink_since_now_gets_nothing_from_before
            a_repeated_subscription_changes_nothing
            a_subscription_only_grows
            what_is_kept_of_a_further_topic_joins_the_line
            an_ended_subscription_delivers_what_was_made
        }
        $crate::messages_contract! { @family $open take
            nothing_is_taken_before_it_is_due
            the_longest_due_come_first_and_no_more_than_asked
            a_take_is_bounded
            sinks_are_apart
            epochs_rise
        }
        $crate::messages_contract! { @family $open order
            under_one_key_the_order_is_that_of_the_append
            a_key_has_one_holder
            tenants_have_keys_of_their_own
            what_is_appended_behind_waits_for_its_turn
            a_lost_holders_key_is_taken_by_another
            those_behind_are_not_counted_as_lost
            a_holder_that_never_said_that_it_leaves_is_counted_once
            only_who_has_the_front_departs
            what_a_lost_holder_had_is_taken_as_far_as_asked
        }
        $crate::messages_contract! { @family $open mark
            what_was_delivered_has_its_proof
            a_stale_epoch_changes_nothing
            a_repeated_mark_is_already
            a_failed_try_waits_and_gives_back_those_behind
            what_was_given_back_keeps_its_error
            one_behind_another_is_not_marked_first
            one_refused_mark_does_not_spoil_the_others
            a_late_word_counts_while_nobody_else_has_it
        }
        $crate::messages_contract! { @family $open park
            one_bad_key_is_parked_alone
            a_person_tries_again
            a_person_skips
            what_is_not_parked_cannot_be_steered
            parked_deliveries_are_listed_in_pages
            what_is_open_is_counted
        }
        $crate::messages_contract! { @family $open race
            each_is_delivered_once_in_order_by_many_holders
            nothing_is_lost_while_it_is_appended_and_taken
            no_message_falls_between_an_append_and_a_subscription
            of_many_appends_of_one_id_one_is_written
        }
        $crate::messages_contract! { @family $open receipt
            a_message_is_accepted_once
            one_of_fifty_at_once_is_the_first
            all_four_parts_make_a_receipt
            receipts_are_forgotten_in_steps
            a_receipt_stays_while_its_message_is_here
        }
        $crate::messages_contract! { @family $open forget
            what_is_open_or_parked_is_never_forgotten
            what_was_delivered_or_skipped_is_forgotten
            a_message_without_a_sink_is_forgotten
            a_message_stays_while_one_delivery_does
            it_goes_in_steps_the_oldest_first
            a_forgotten_id_is_free
        }
    };
    (@family $open:ident $family:ident $($case:ident)*) => {
        mod $family {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    let name = concat!("messages::", stringify!($family), "::", stringify!($case));
                    let store = super::$open(name).await;
                    tokio::time::timeout(
                        $crate::contract::CASE_TIME_MAX,
                        $crate::contract::messages::$family::$case(store),
                    )
                    .await
                    .expect("the case ends in time");
                }
            )*
        }
    };
}
