//! Pages of jobs, the latest first. Each page is read from an index that the filter or the order gives: by key, by
//! fingerprint, by the small partial indexes of rare states, by kind, else by id.

use surefoot_core::error::StoreError;
use surefoot_core::id::JobId;
use surefoot_core::job::{Job, StateName};
use surefoot_core::port::{JobFilter, PAGE_MAX};
use uuid::Uuid;

use super::call::Caller;
use super::row::JobRow;

/// The columns of a page, and what of it one answer carries: rows until their texts have 32 MiB together.
macro_rules! page {
    ($verb:literal, $from:literal) => {
        concat!(
            "-- jobs: ", $verb, "
        select c.* from (
            select k.*, sum(octet_length(k.payload) + coalesce(octet_length(k.result), 0)) over (order by k.id desc)
                - octet_length(k.payload) - coalesce(octet_length(k.result), 0) as before
            from (
                select k.* from ", $from, "
                    and k.id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') and ($3::text is null or k.tenant = $3)
                    and ($4::text is null or k.state = $4) and ($5::text is null or k.kind = $5)
                    and ($6::text is null or k.queue = $6) and ($7::text is null or k.key = $7)
                    and ($8::bigint is null or k.fingerprint = $8)
                order by k.id desc limit $2) k) c
        where c.before < 33554432 order by c.id desc"
        )
    };
}

statements! {
    ALL_JOBS = page!("all", "surefoot.known_job k where true");
    OF_KEY = page!("by key", "surefoot.job_key y join surefoot.known_job k on k.id = y.job where y.key = $7");
    OF_KIND = page!("by kind", "surefoot.known_job k where k.kind = $5");
    PENDING = page!("pending", "surefoot.live_job k where k.state = 'pending'");
    RUNNING = page!("running", "surefoot.live_job k where k.readiness = 'running'");
    RETRYING = page!("retrying", "surefoot.live_job k where k.state = 'retrying'");
    VERIFYING = page!("verifying", "surefoot.live_job k where k.state = 'verifying'");
    DEAD = page!("dead", "surefoot.dead_job k where true");
    OF_FINGERPRINT = page!("by fingerprint", "surefoot.dead_job k where k.fingerprint = $8");
    SUCCEEDED = page!("succeeded", "surefoot.past_job k where k.state = 'succeeded'");
    CANCELLED = page!("cancelled", "surefoot.past_job k where k.state = 'cancelled'");
    IGNORED = page!("ignored", "surefoot.past_job k where k.state = 'ignored'");
}

/// Jobs that match, the highest id first. A page is shorter than `limit` when no more match or when its texts are more
/// than one answer carries; the next page then begins where it ends.
pub(super) async fn jobs(
    caller: &Caller,
    filter: &JobFilter,
    before: Option<JobId>,
    limit: u32,
) -> Result<Vec<Job>, StoreError> {
    let text = |text: Option<&str>| text.map(str::to_owned);
    let statement = caller
        .statement(statement(filter))
        .bind::<Option<Uuid>>(before.map(JobId::as_uuid))
        .bind(i64::from(limit.min(PAGE_MAX)))
        .bind(text(filter.tenant.as_ref().map(|name| name.as_str())))
        .bind(text(filter.state.map(StateName::as_str)))
        .bind(text(filter.kind.as_ref().map(|name| name.as_str())))
        .bind(text(filter.queue.as_ref().map(|name| name.as_str())))
        .bind(text(filter.key.as_ref().map(|name| name.as_str())))
        .bind(
            filter
                .fingerprint
                .map(|fingerprint| fingerprint.to_bits().cast_signed()),
        );
    let rows = caller.rows(statement).await?;
    rows.iter().map(|row| JobRow::at(row, 0).known()).collect()
}

/// The statement that reads the fewest rows that do not match.
fn statement(filter: &JobFilter) -> &'static str {
    if filter.key.is_some() {
        return OF_KEY;
    }
    if filter.fingerprint.is_some() {
        return OF_FINGERPRINT;
    }
    match (filter.state, &filter.kind) {
        (Some(StateName::Retrying), _) => RETRYING,
        (Some(StateName::Verifying), _) => VERIFYING,
        (Some(StateName::Running), _) => RUNNING,
        (Some(StateName::Dead), _) => DEAD,
        (Some(StateName::Cancelled), _) => CANCELLED,
        (Some(StateName::Ignored), _) => IGNORED,
        (_, Some(_)) => OF_KIND,
        (Some(StateName::Pending), None) => PENDING,
        (Some(StateName::Succeeded), None) => SUCCEEDED,
        (None, None) => ALL_JOBS,
    }
}
