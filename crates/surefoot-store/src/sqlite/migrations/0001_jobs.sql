-- Schema 1: jobs. Times are microseconds since 1970. Names begin with surefoot_, because a caller's own tables may
-- stand in the same file and be written in the same transaction.

-- What was asked for, once and for all: only an edit changes the payload, only a replay as a new effect the
-- generation. It stays while the job is known, so that ending a job never copies a payload. seq is the order of
-- enqueuing and never comes back.
create table surefoot_intent (
    seq integer primary key autoincrement,
    id blob not null check (length(id) = 16),
    tenant text not null,
    kind text not null,
    key text,
    queue text not null,
    priority integer not null,
    order_key text,
    concurrency_key text,
    revision integer not null default 0,
    generation integer not null default 1,
    trace text,
    enqueued_at integer not null,
    deadline_at integer,
    payload text not null
) strict;
create unique index surefoot_intent_id on surefoot_intent (id);
-- The arbiter of "the same key is the same job". The key leads, so that a search by key alone uses it too.
create unique index surefoot_intent_key on surefoot_intent (key, tenant, kind) where key is not null;

-- What waits, runs or is dead. What a claim decides by is repeated from the intent, so that it reads this table only.
-- readiness says where a waiting job stands: `ready` in its lane, `parked` behind its order key, `crowded` behind its
-- concurrency key, `overdue` past its deadline; only ready ones are in the way of a claim.
create table surefoot_job (
    seq integer primary key,
    id blob not null,
    tenant text not null,
    kind text not null,
    queue text not null,
    priority integer not null,
    order_key text,
    concurrency_key text,
    deadline_at integer,
    state text not null check (state in ('pending', 'running', 'retrying', 'verifying', 'dead')),
    readiness text check (readiness in ('ready', 'parked', 'crowded', 'overdue')),
    due_at integer not null,
    epoch integer not null default 0,
    starts integer not null default 0,
    failed integer not null default 0,
    crashed integer not null default 0,
    deferred integer not null default 0,
    unknown integer not null default 0,
    worker text,
    started_at integer,
    lease_until integer,
    recovery text,
    cancel_requested integer not null default 0,
    dead_at integer,
    dead_reason text,
    fingerprint integer,
    error text,
    check ((readiness is not null) = (state in ('pending', 'retrying', 'verifying'))),
    -- What was begun holds its order key, so only a pending job can stand behind one.
    check (readiness is not 'parked' or (state = 'pending' and order_key is not null)),
    -- What may have happened is asked about whatever the deadline.
    check (readiness is not 'overdue' or state <> 'verifying'),
    check ((lease_until is not null) = (state = 'running')),
    check ((dead_at is not null) = (state = 'dead'))
) strict;
-- A lane is (queue, kind); within it, jobs stand in the order in which they are claimed. seq follows by itself.
create index surefoot_job_lane on surefoot_job (readiness, queue, kind, priority desc, due_at)
    where readiness is not null;
create index surefoot_job_running on surefoot_job (queue, kind, lease_until) where state = 'running';
create index surefoot_job_shared on surefoot_job (kind, tenant, concurrency_key)
    where state = 'running' and concurrency_key is not null;
create index surefoot_job_crowded on surefoot_job (queue, kind, tenant, concurrency_key, priority desc, due_at)
    where readiness = 'crowded';
-- Who stands in the line of an order key, and who is in front: one at most, which the database itself sees to.
create index surefoot_job_line on surefoot_job (tenant, order_key)
    where order_key is not null and state <> 'dead';
create unique index surefoot_job_front on surefoot_job (tenant, order_key)
    where order_key is not null and state <> 'dead' and readiness is not 'parked';
create index surefoot_job_deadline on surefoot_job (deadline_at)
    where deadline_at is not null and state in ('pending', 'retrying');
create index surefoot_job_listed on surefoot_job (state, id) where state <> 'running';
create index surefoot_job_dead_group on surefoot_job (kind, dead_reason, fingerprint, dead_at, id)
    where state = 'dead';
create index surefoot_job_dead_fingerprint on surefoot_job (fingerprint, id) where state = 'dead';
create index surefoot_job_dead_at on surefoot_job (dead_at) where state = 'dead';

-- Groups of jobs that stand crowded behind their concurrency key, and how many jobs of each group run.
create table surefoot_crowd (
    kind text not null,
    tenant text not null,
    concurrency_key text not null,
    queue text not null,
    running integer not null,
    primary key (kind, tenant, concurrency_key, queue)
) strict, without rowid;
create index surefoot_crowd_open on surefoot_crowd (queue, kind, running);

-- Jobs that are finished. Appended to when a job ends, deleted from by retention, never changed.
create table surefoot_job_history (
    seq integer primary key,
    id blob not null,
    state text not null check (state in ('succeeded', 'cancelled', 'ignored')),
    ended_at integer not null,
    starts integer not null,
    failed integer not null,
    crashed integer not null,
    deferred integer not null,
    unknown integer not null,
    reason text,
    result text,
    check ((result is not null) = (state = 'succeeded')),
    check ((reason is not null) = (state <> 'succeeded'))
) strict;
create index surefoot_job_history_ended on surefoot_job_history (ended_at);
create index surefoot_job_history_listed on surefoot_job_history (state, id);

-- Attempts that ended, never changed but for a late word; the one that runs is in the job's row until then.
create table surefoot_attempt (
    seq integer not null,
    epoch integer not null,
    number integer not null,
    worker text not null,
    started_at integer not null,
    ended_at integer not null,
    outcome text not null,
    error text,
    -- What the holder of a lost attempt said afterwards.
    late text check (late is null or outcome = 'lost'),
    primary key (seq, epoch)
) strict, without rowid;

-- What is known of the effects of jobs, whatever the state of the job. The document says it all; version is what a write
-- follows on.
create table surefoot_effect (
    seq integer not null,
    place integer not null,
    version integer not null,
    state text not null
        check (state in ('intended', 'confirmed', 'rejected', 'unknown', 'absent', 'needs_human')),
    name text not null,
    document text not null,
    primary key (seq, place)
) strict;

-- Payloads that were replaced: revision 0 is the payload as first enqueued.
create table surefoot_revision (
    seq integer not null,
    number integer not null,
    replaced_at integer not null,
    actor text not null,
    reason text not null,
    payload text not null
) strict;
create unique index surefoot_revision_number on surefoot_revision (seq, number);

-- What people did to jobs.
create table surefoot_action (
    number integer primary key autoincrement,
    seq integer not null,
    verb text not null,
    at integer not null,
    actor text not null,
    reason text not null
) strict;
create index surefoot_action_job on surefoot_action (seq, number);

create table surefoot_queue_pause (
    queue text not null primary key,
    at integer not null,
    actor text not null,
    reason text not null
) strict, without rowid;

-- How many jobs there are of each (queue, kind, state), so that nobody counts millions of rows to draw a gauge.
-- Nothing that decides about work reads it.
create table surefoot_depth (
    queue text not null,
    kind text not null,
    state text not null,
    count integer not null,
    primary key (queue, kind, state)
) strict, without rowid;
