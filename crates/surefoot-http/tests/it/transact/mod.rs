//! Claim, business rows, jobs and answer in one commit, over SQLite and PostgreSQL.

/// The same cases over one database.
macro_rules! over_this_database {
    ($open:path) => {
        over_this_database!(cases $open:
            rows_message_job_and_answer_are_one_commit_and_are_replayed,
            what_fails_leaves_nothing_and_frees_the_key,
            a_success_without_a_commit_is_told_as_a_fault,
            a_twin_is_told_at_once,
            a_storm_commits_once,
            a_client_that_goes_away_changes_nothing,
            what_is_dropped_before_its_commit_leaves_nothing,
            a_handler_that_takes_too_long_is_rolled_back,
            a_request_without_a_key_has_no_transaction,
            an_answer_that_is_too_large_is_committed_without_its_body,
            what_may_have_happened_outside_is_unknown_without_its_rows,
            a_committed_refusal_is_replayed,
            what_is_to_follow_a_commit_follows_it_alone,
            the_handler_knows_its_request_and_its_callers_limits,
            what_a_witness_released_runs_in_a_transaction_and_stays_released_when_it_fails
        );
        over_this_database!(lost $open:
            a_commit_whose_answer_was_lost_is_found_on_record,
            a_commit_that_was_lost_itself_happened_not_at_all,
            a_commit_that_nobody_can_look_up_is_unknown_until_the_next_arrival,
            what_may_have_happened_outside_is_not_run_again_when_the_store_was_away
        );
    };
    ($place:ident $open:path: $($case:ident),+) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $case() {
            $crate::transact::$place::$case($open().await).await;
        })+
    };
}

mod bank;
mod cases;
mod lost;
mod postgres;
mod sqlite;
