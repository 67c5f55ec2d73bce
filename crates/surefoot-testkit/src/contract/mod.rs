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

pub mod announce;
pub mod cancel;
pub mod claim;
pub mod contend;
pub mod dead;
pub mod depth;
pub mod effect_contend;
pub mod effect_record;
pub mod effect_stay;
pub mod effects;
pub mod enqueue;
pub mod expire;
pub mod extend;
pub mod fence;
mod fixture;
pub mod hasten;
pub mod lapse;
pub mod late;
pub mod limits;
pub mod list;
pub mod maintain;
pub mod messages;
pub mod order;
pub mod pause;
pub mod replay;
pub mod requests;
pub mod serve;
pub mod settle;
pub mod verifying;
pub mod withdraw;

/// The longest that one case may take, so that a deadlock is a failure and not a test that never ends.
pub const CASE_TIME_MAX: std::time::Duration = std::time::Duration::from_secs(180);

/// Makes a test of every case of the [store contract](crate::contract) over the stores that `open` gives.
///
/// `open` is an `async fn(case: &'static str) -> Arc<dyn Store>`: each call gives a store that holds nothing and
/// that no other case sees. `case` is the name of the case, such as `claim::kinds_are_filtered`. What must live
/// as long as the store (a temporary folder, a schema that is dropped) is kept by the store itself.
/// The calling crate needs `tokio` with `macros` and `rt-multi-thread`.
///
/// ```text
/// async fn open(case: &'static str) -> Arc<dyn Store> { .. }
/// surefoot_testkit::store_contract!(open);
/// ```
#[macro_export]
macro_rules! store_contract {
    ($open:ident) => {
        $crate::store_contract! { @family $open announce
            every_listener_hears_where_announcements_are_carried
        }
        $crate::store_contract! { @family $open cancel
            a_request_that_the_holder_did_not_hear_of_is_not_lost
            each_state_has_its_answer
            a_repeated_request_is_recorded_once
            a_request_ends_with_the_attempt
            a_cancelled_job_keeps_its_key
            what_may_have_happened_is_not_withdrawn_while_it_waits
            a_cancellation_and_a_claim_at_once_have_one_winner
            a_stopped_attempt_is_cancelled_once
        }
        $crate::store_contract! { @family $open claim
            a_claimed_job_runs_under_the_terms
            a_running_job_is_not_claimed_again
            a_job_in_the_future_waits_and_says_when
            what_is_due_but_may_not_run_is_not_due_next
            what_a_clock_ahead_handed_in_is_due_next
            higher_priority_then_due_time_then_age
            a_claim_takes_no_more_than_it_asks
            a_retry_is_claimed_when_due_under_a_higher_epoch
            no_attempt_starts_after_the_deadline
            what_may_not_run_does_not_stand_in_the_way
            concurrent_claimers_never_share_a_job
        }
        $crate::store_contract! { @family $open contend
            overlapping_enqueues_in_opposite_orders
            overlapping_settlements_in_opposite_orders
            all_verbs_at_once
        }
        $crate::store_contract! { @family $open dead
            only_dead_letters_are_steered
            an_ignored_letter_stays_readable
            an_edit_keeps_what_was
            letters_are_grouped_by_kind_reason_and_fault
            of_letters_that_died_at_once_the_highest_id_is_the_latest
            groups_are_bounded
        }
        $crate::store_contract! { @family $open depth
            an_empty_store_has_no_depth
            each_queue_kind_and_state_is_counted
            the_oldest_are_told
        }
        $crate::store_contract! { @family $open effect_contend
            one_of_many_concurrent_witnesses_applies
            a_witness_and_the_holder_at_once_have_one_winner
            one_first_record_of_many_applies
            concurrent_repeats_of_one_write_apply_once
            a_write_and_a_lapse_at_once_have_one_winner
            overlapping_writes_in_opposite_orders
        }
        $crate::store_contract! { @family $open effect_record
            every_field_is_kept
            every_field_is_kept_by_a_change
            the_whole_way_of_an_effect_is_kept
            a_step_is_remembered
        }
        $crate::store_contract! { @family $open effect_stay
            effects_come_by_job_and_place
            effects_stay_as_long_as_the_job
            a_full_batch_of_effects_is_written
        }
        $crate::store_contract! { @family $open effects
            a_write_follows_on_the_one_on_record
            a_repeated_write_is_already
            a_stale_write_changes_nothing
            a_witness_needs_no_lease
            a_job_that_is_not_there_is_told
            one_refused_write_spoils_no_other
            writes_of_one_batch_follow_on_one_another
            a_write_extends_the_lease_and_never_shortens_it
            what_does_not_apply_extends_no_lease
            a_lapsed_holder_that_nobody_settled_may_write
        }
        $crate::store_contract! { @family $open enqueue
            a_job_reads_back_as_it_came
            a_key_is_one_job
            the_same_call_repeated_is_created
            keys_count_within_one_batch
            keys_and_texts_of_any_legal_length_are_kept
            payloads_are_kept_byte_for_byte
            a_key_is_held_in_every_state
            the_payload_as_first_enqueued_counts
            concurrent_enqueues_of_one_key_give_one_job
            concurrent_repeats_of_one_call_give_one_job
        }
        $crate::store_contract! { @family $open expire
            a_waiting_job_expires_at_its_deadline
            a_retry_expires_with_what_it_said
            an_unknown_outcome_does_not_expire_as_a_failure
            what_runs_or_is_settled_does_not_expire
            a_holder_may_settle_after_the_deadline
            no_more_expire_than_asked
        }
        $crate::store_contract! { @family $open extend
            a_lease_is_extended_and_never_shortened
            a_lost_lease_is_told
            a_heart_beats_as_extend_does
            a_heart_tells_the_database_time
            a_lapsed_lease_that_nobody_settled_is_extended
            many_leases_are_extended_in_order
            leases_are_extended_while_jobs_are_settled
        }
        $crate::store_contract! { @family $open fence
            a_stale_settlement_changes_nothing
            a_repeated_settlement_is_already
            a_stale_item_spoils_no_other
            one_lease_is_settled_once_within_a_batch
            a_job_that_does_not_run_is_not_settled
            a_held_lease_is_not_settled_as_lost
            a_holder_may_settle_after_its_lease_lapsed
            epochs_rise_over_replays
            a_settlement_repeated_after_the_next_claim_changes_nothing
            one_of_many_concurrent_settlements_applies
        }
        $crate::store_contract! { @family $open hasten
            only_what_is_verifying_is_hastened
            it_is_never_put_off
        }
        $crate::store_contract! { @family $open lapse
            lapsed_jobs_are_found_longest_ended_first
            an_extended_lease_is_not_settled_as_lost
            a_finished_job_is_not_settled_as_lost
            what_is_found_lapsed_is_what_was_leased
            a_lapse_and_an_extension_at_once_have_one_winner
            a_lapse_and_a_success_at_once_have_one_winner
            a_crash_loop_ends_as_a_dead_letter
            six_thousand_lapsed_jobs_are_all_found
        }
        $crate::store_contract! { @family $open late
            the_first_late_word_stays
            a_late_word_may_come_in_every_state
            only_a_lost_attempt_takes_a_late_word
            each_lost_attempt_has_its_own_word
            late_words_of_any_kind_are_kept
            one_of_many_late_words_at_once_stays
        }
        $crate::store_contract! { @family $open limits
            a_queue_has_its_limit
            a_kind_has_its_limit
            a_concurrency_key_has_its_limit
            all_limits_hold_at_once
            a_lapsed_lease_counts_until_it_is_settled
            what_does_not_fit_does_not_stand_in_the_way
            concurrent_claimers_keep_a_queue_limit
            concurrent_claimers_keep_a_kind_limit
            concurrent_claimers_keep_a_key_limit
        }
        $crate::store_contract! { @family $open list
            pages_are_stable_while_jobs_arrive
            pages_hold_jobs_of_every_state
            every_filter_that_is_set_must_match
            a_fingerprint_finds_dead_letters_only
            a_page_is_bounded
            what_is_not_there_is_none
        }
        $crate::store_contract! { @family $open maintain
            only_what_is_finished_is_dropped
            nothing_leaves_before_its_time
            the_end_counts_not_the_beginning
            attempts_of_a_waiting_job_outlive_their_time
            much_history_is_dropped_in_steps
            it_runs_beside_work_and_beside_itself
        }
        $crate::store_contract! { @family $open order
            one_at_a_time_first_in_first_out
            the_order_is_that_of_arrival_not_of_ids
            a_retry_holds_its_key
            what_is_over_frees_its_key
            a_replayed_job_waits_for_the_one_that_runs
            the_first_holds_its_key_wherever_it_waits
            keys_of_different_tenants_and_names_are_apart
            a_dead_letter_of_long_ago_holds_nothing
            concurrent_claimers_keep_the_order
        }
        $crate::store_contract! { @family $open pause
            a_paused_queue_starts_nothing
            the_first_pause_stays_until_it_is_resumed
        }
        $crate::store_contract! { @family $open replay
            a_replay_starts_anew_and_keeps_what_was
            a_new_effect_has_a_new_provider_key
            an_unknown_outcome_needs_a_choice
            a_letter_keeps_its_key_beside_a_twin
            one_of_many_concurrent_replays_is_done
            an_expired_letter_is_replayed
            a_deadline_ahead_is_kept_and_one_that_passed_is_taken_away
        }
        $crate::store_contract! { @family $open serve
            kinds_are_filtered
            queues_are_filtered
            fair_over_queues
            what_may_not_run_uses_up_no_turn_of_its_queue
            a_claim_that_serves_two_kinds_is_one_order
            each_kind_has_its_terms
        }
        $crate::store_contract! { @family $open settle
            each_next_state_is_applied
            settling_and_claiming_in_one_call
            an_unknown_outcome_waits_for_a_person
            errors_of_any_kind_are_kept
            a_full_batch_is_settled
            every_start_has_its_record
            deferrals_without_end_stay_bounded
        }
        $crate::store_contract! { @family $open verifying
            it_is_claimed_when_due_under_a_higher_epoch
            a_repeated_settlement_into_verifying_is_already
            it_can_go_wherever_a_running_job_can
            a_question_that_was_lost_is_found_lapsed
            it_holds_its_order_key
            it_counts_under_a_limit_only_when_it_runs
            a_paused_queue_asks_nothing
            it_is_asked_about_whatever_its_deadline
            it_is_claimed_by_priority_and_due_time_as_any_job
            it_is_listed_and_counted
            it_is_not_steered_as_a_dead_letter
        }
        $crate::store_contract! { @family $open withdraw
            a_request_is_told_with_the_next_claim
            a_request_cancels_what_would_run_again
            a_request_stays_while_it_is_verifying
            a_request_ends_where_the_job_ends
            a_request_and_a_claim_at_once_are_both_heard
            a_hastened_job_keeps_what_was_asked_of_it
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
