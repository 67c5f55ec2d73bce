-- Schema 1, tables. Times are microseconds since 1970. Names compare by their bytes (collation C), as in Rust.

-- What waits or runs: small, and changed often. `seq` is the order of enqueuing, `urgency` the priority with its sign
-- turned, so that the most urgent comes first.
-- `readiness` says where a job stands: `ready` and `gated` may be claimed (gated ones share an order key or a concurrency
-- key with others, so only a claim that holds the gate takes them); `scheduled` waits for its time; `parked` stands behind
-- its order key, `crowded` behind its concurrency key; `overdue` is past its deadline; `running` is claimed.
-- `due_at` is when a waiting job is due and when a running one's lease ends; the other columns of a lease stay when it
-- ends. `cancel_requested` is set of a running job, and of one that is verifying or waits with an unknown outcome, whose next holder is told. There are few indexes, no checks and few conditions on indexes, because each costs every statement that writes
-- one row more than writing that row.
create table surefoot.job (
    id uuid not null,
    seq bigint not null generated always as identity,
    tenant text collate "C" not null,
    kind text collate "C" not null,
    key text collate "C",
    queue text collate "C" not null,
    urgency smallint not null,
    order_key text collate "C",
    concurrency_key text collate "C",
    payload text not null,
    revision integer not null default 0,
    generation integer not null default 1,
    trace text,
    enqueued_at bigint not null,
    deadline_at bigint,
    starts integer not null default 0,
    failed integer not null default 0,
    crashed integer not null default 0,
    deferred integer not null default 0,
    unknown integer not null default 0,
    state text collate "C" not null default 'pending',
    readiness text collate "C" not null,
    due_at bigint not null,
    error text,
    epoch bigint not null default 0,
    worker text,
    started_at bigint,
    was_due_at bigint,
    recovery text,
    cancel_requested boolean not null default false,
    constraint job_pkey primary key (id)
) with (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000
);

-- A lane is (queue, kind, urgency) within a readiness. In it, jobs stand in the order in which they are claimed; running
-- ones in the order in which their leases end.
create index job_lane on surefoot.job (readiness, queue, kind, urgency, due_at, seq);
create index job_line on surefoot.job (tenant, order_key, state, seq) where order_key is not null;
create index job_sharing on surefoot.job (kind, readiness, tenant, concurrency_key, urgency, due_at, seq)
    where concurrency_key is not null;
-- A verifying job is asked about whatever its deadline.
create index job_deadline on surefoot.job (readiness, deadline_at) where deadline_at is not null and state <> 'verifying';
create index job_again on surefoot.job (state, id) where state in ('retrying', 'verifying');

-- What will not run again by itself and waits for a person. A replay moves it back, with its seq and its epoch.
create table surefoot.dead_letter (
    id uuid not null,
    seq bigint not null,
    tenant text collate "C" not null,
    kind text collate "C" not null,
    key text collate "C",
    queue text collate "C" not null,
    priority smallint not null,
    order_key text collate "C",
    concurrency_key text collate "C",
    payload text not null,
    revision integer not null,
    generation integer not null,
    trace text,
    enqueued_at bigint not null,
    deadline_at bigint,
    starts integer not null,
    failed integer not null,
    crashed integer not null,
    deferred integer not null,
    unknown integer not null,
    epoch bigint not null,
    dead_at bigint not null,
    dead_reason text collate "C" not null,
    fingerprint bigint not null,
    error text not null,
    constraint dead_letter_pkey primary key (id)
);
create index dead_letter_group on surefoot.dead_letter (kind, dead_reason, fingerprint, dead_at, id);
create index dead_letter_fingerprint on surefoot.dead_letter (fingerprint, id);
create index dead_letter_lane on surefoot.dead_letter (queue, kind, dead_at);

-- The arbiter of "the same key is the same job". The key leads, so that a search by key alone uses it too.
create table surefoot.job_key (
    key text collate "C" not null,
    kind text collate "C" not null,
    tenant text collate "C" not null,
    job uuid not null,
    constraint job_key_pkey primary key (key, kind, tenant)
) with (autovacuum_vacuum_scale_factor = 0.02);
create index job_key_job on surefoot.job_key (job);

-- Jobs that are finished, with their last attempt, whose number is `starts`; a job that never started has none
-- (`outcome` is null). Appended to; only the late word of a lost attempt is put in afterwards. Partitioned by id, which begins with the time of enqueuing, so that
-- one look-up is one probe and retention drops partitions. Ids of no known week go to the default partition.
create table surefoot.job_history (
    id uuid not null,
    seq bigint not null,
    tenant text collate "C" not null,
    kind text collate "C" not null,
    key text collate "C",
    queue text collate "C" not null,
    priority smallint not null,
    order_key text collate "C",
    concurrency_key text collate "C",
    payload text not null,
    revision integer not null,
    generation integer not null,
    trace text,
    enqueued_at bigint not null,
    deadline_at bigint,
    starts integer not null,
    failed integer not null,
    crashed integer not null,
    deferred integer not null,
    unknown integer not null,
    state text collate "C" not null,
    ended_at bigint not null,
    reason text,
    result text,
    epoch bigint,
    worker text,
    started_at bigint,
    attempt_ended_at bigint,
    outcome text,
    error text,
    late text,
    constraint job_history_pkey primary key (id),
    constraint job_history_state check (state in ('succeeded', 'cancelled', 'ignored'))
) partition by range (id);
create index job_history_kind on surefoot.job_history (kind, id);
create index job_history_withdrawn on surefoot.job_history (state, id) where state <> 'succeeded';
create index job_history_ended on surefoot.job_history using brin (ended_at) with (pages_per_range = 32);
create table surefoot.job_history_default partition of surefoot.job_history default;
create index job_history_default_ended on surefoot.job_history_default (ended_at);

-- Attempts after which their job went on: it was tried again, given back or died. The last attempt of a finished job
-- stands with it in job_history, the present one of a running job in job. Appended to; `late` is what the holder of a lost
-- attempt said when it was settled without it.
create table surefoot.attempt (
    job uuid not null,
    number integer not null,
    epoch bigint not null,
    worker text not null,
    started_at bigint not null,
    ended_at bigint not null,
    outcome text not null,
    error text,
    late text,
    constraint attempt_pkey primary key (job, number)
) partition by range (job);
create table surefoot.attempt_default partition of surefoot.attempt default;

-- What is known of effects, each in one document. They stay as long as any job of their week.
create table surefoot.effect (
    job uuid not null,
    place bigint not null,
    version bigint not null,
    document text not null,
    constraint effect_pkey primary key (job, place)
) partition by range (job);
create table surefoot.effect_default partition of surefoot.effect default;

-- Payloads that were replaced: number 0 is the payload as first enqueued.
create table surefoot.revision (
    job uuid not null,
    number integer not null,
    payload text not null,
    replaced_at bigint not null,
    actor text not null,
    reason text not null,
    constraint revision_pkey primary key (job, number)
);

-- What people did to jobs.
create table surefoot.action (
    job uuid not null,
    number bigint not null generated always as identity,
    verb text not null,
    at bigint not null,
    actor text not null,
    reason text not null,
    constraint action_pkey primary key (job, number)
);

create table surefoot.queue_pause (
    queue text collate "C" not null,
    at bigint not null,
    actor text not null,
    reason text not null,
    constraint queue_pause_pkey primary key (queue)
);
