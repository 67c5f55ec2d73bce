-- Schema 1, tables. Times are microseconds since 1970. Names compare by their bytes (collation C), as in Rust.

-- What waits, runs or is dead: small, and changed often. `seq` is the order of enqueuing.
-- `readiness` says where a waiting job stands: `ready` and `gated` may be claimed (gated ones share an order key or a
-- concurrency key with others, so only a claim that holds the gate takes them); `scheduled` waits for its time;
-- `parked` stands behind its order key, `crowded` behind its concurrency key; `overdue` is past its deadline.
-- The columns of the last lease stay when it ends; `state` says whether they count.
create table surefoot.job (
    id uuid not null,
    seq bigint not null generated always as identity,
    tenant text collate "C" not null,
    kind text collate "C" not null,
    key text collate "C",
    queue text collate "C" not null,
    priority smallint not null,
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
    readiness text collate "C",
    due_at bigint not null,
    error text,
    epoch bigint not null default 0,
    worker text,
    started_at bigint,
    lease_until bigint,
    recovery text,
    cancel_requested boolean not null default false,
    dead_at bigint,
    dead_reason text collate "C",
    fingerprint bigint,
    constraint job_pkey primary key (id),
    constraint job_state check (state in ('pending', 'running', 'retrying', 'dead')),
    constraint job_readiness check (
        readiness in ('ready', 'gated', 'scheduled', 'parked', 'crowded', 'overdue')
        and (readiness is not null) = (state in ('pending', 'retrying'))
    )
) with (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000
);

-- A lane is (queue, kind, priority). Within a lane and a readiness, jobs stand in the order in which they are claimed.
create index job_lane on surefoot.job (readiness, queue, kind, (- priority), due_at, seq) where readiness is not null;
create index job_running on surefoot.job (queue, kind, lease_until) where state = 'running';
create index job_order on surefoot.job (tenant, order_key, seq) where order_key is not null and state <> 'dead';
create index job_holder on surefoot.job (tenant, order_key)
    where order_key is not null and state in ('running', 'retrying');
create index job_sharing on surefoot.job (kind, tenant, concurrency_key)
    where concurrency_key is not null and state = 'running';
create index job_crowded on surefoot.job (kind, tenant, concurrency_key, (- priority), due_at, seq)
    where readiness = 'crowded';
create index job_deadline on surefoot.job (deadline_at)
    where deadline_at is not null and readiness is not null;
create index job_claimable_deadline on surefoot.job (deadline_at)
    where deadline_at is not null and readiness in ('ready', 'gated');
create index job_retrying on surefoot.job (id) where state = 'retrying';
create index job_dead on surefoot.job (id) where state = 'dead';
create index job_dead_group on surefoot.job (kind, dead_reason, fingerprint, dead_at, id) where state = 'dead';
create index job_dead_fingerprint on surefoot.job (fingerprint, id) where state = 'dead';
create index job_dead_lane on surefoot.job (queue, kind, dead_at) where state = 'dead';

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
-- (`outcome` is null). Appended to, never changed. Partitioned by id, which begins with the time of enqueuing, so that
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
    constraint job_history_pkey primary key (id),
    constraint job_history_state check (state in ('succeeded', 'cancelled', 'ignored'))
) partition by range (id);
create index job_history_kind on surefoot.job_history (kind, id);
create index job_history_withdrawn on surefoot.job_history (state, id) where state <> 'succeeded';
create index job_history_ended on surefoot.job_history using brin (ended_at) with (pages_per_range = 32);
create table surefoot.job_history_default partition of surefoot.job_history default;
create index job_history_default_ended on surefoot.job_history_default (ended_at);

-- Attempts after which their job went on: it was tried again, given back or died. The last attempt of a finished job
-- stands with it in job_history, the present one of a running job in job. Appended to, never changed.
create table surefoot.attempt (
    job uuid not null,
    number integer not null,
    epoch bigint not null,
    worker text not null,
    started_at bigint not null,
    ended_at bigint not null,
    outcome text not null,
    error text,
    constraint attempt_pkey primary key (job, number)
) partition by range (job);
create table surefoot.attempt_default partition of surefoot.attempt default;

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
