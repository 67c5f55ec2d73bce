-- Schema 1, settle. Items stand in the order of their ids, so that batches that overlap lock rows in one order.

-- Applies settlements, each under its fence; a batch names a job once. Answers null when all were applied; else for each
-- item 0 (applied), 1 (already applied before: the same call repeated) or 2 (stale: nothing was written).
create function surefoot.settle(
    p_jobs uuid[], p_epochs bigint[], p_lapsed_before bigint[], p_failed integer[], p_crashed integer[],
    p_deferred integer[], p_unknown integer[], p_next text[], p_at bigint[], p_texts text[], p_results text[],
    p_dead_reasons text[], p_fingerprints bigint[], p_outcomes text[], p_errors text[], p_ended_at bigint[],
    p_now bigint)
returns smallint[] language plpgsql as $$
declare
    v_order_tenants text[] := '{}';
    v_order_keys text[] := '{}';
    v_kinds text[] := '{}';
    v_tenants text[] := '{}';
    v_concurrency_keys text[] := '{}';
    v_applied uuid[] := '{}';
    v_count integer := 0;
    v_waits constant boolean := p_next && array['pending', 'retrying', 'verifying'];
    g record;
begin
    -- What is finished or dead leaves the small table, and so does what would wait again but was asked to stop. What may
    -- have happened cannot be stopped: it waits or is verified, and its next holder is told.
    with item as (
        select * from unnest(
            p_jobs, p_epochs, p_lapsed_before, p_failed, p_crashed, p_deferred, p_unknown, p_next, p_at, p_texts,
            p_results, p_dead_reasons, p_fingerprints, p_outcomes, p_errors, p_ended_at)
            i (job, epoch, lapsed_before, failed, crashed, deferred, unknown, next, at, text, result, dead_reason,
                fingerprint, outcome, error, ended_at)
    ),
    gone as (
        delete from surefoot.job j
        using item i
        where j.id = i.job and j.epoch = i.epoch and j.state = 'running'
            and (i.lapsed_before is null or j.due_at < i.lapsed_before)
            and i.next <> 'verifying' and (i.next not in ('pending', 'retrying') or j.cancel_requested and i.unknown = 0)
        returning j.id, j.seq, j.tenant, j.kind, j.key, j.queue, - j.urgency as priority, j.order_key,
            j.concurrency_key, j.payload, j.revision, j.generation, j.trace, j.enqueued_at, j.deadline_at, j.starts,
            i.failed, i.crashed, i.deferred, i.unknown, j.epoch, j.worker, j.started_at,
            case when i.next in ('pending', 'retrying') then 'cancelled' else i.next end as next,
            case when i.next in ('pending', 'retrying') then i.ended_at else i.at end as at,
            case when i.next in ('pending', 'retrying')
                then coalesce(i.error, 'cancelled on request') else i.text end as text,
            i.result, i.dead_reason, i.fingerprint, i.outcome, i.error, i.ended_at
    ),
    kept as (
        insert into surefoot.job_history (
            id, seq, tenant, kind, key, queue, priority, order_key, concurrency_key, payload, revision, generation,
            trace, enqueued_at, deadline_at, starts, failed, crashed, deferred, unknown, state, ended_at, reason,
            result, epoch, worker, started_at, attempt_ended_at, outcome, error)
        select n.id, n.seq, n.tenant, n.kind, n.key, n.queue, n.priority, n.order_key, n.concurrency_key, n.payload,
            n.revision, n.generation, n.trace, n.enqueued_at, n.deadline_at, n.starts, n.failed, n.crashed, n.deferred,
            n.unknown, n.next, n.at, n.text, n.result, n.epoch, n.worker, n.started_at, n.ended_at, n.outcome, n.error
        from gone n where n.next <> 'dead'
        on conflict (id) do nothing
    ),
    died as (
        insert into surefoot.dead_letter (
            id, seq, tenant, kind, key, queue, priority, order_key, concurrency_key, payload, revision, generation,
            trace, enqueued_at, deadline_at, starts, failed, crashed, deferred, unknown, epoch, dead_at, dead_reason,
            fingerprint, error)
        select n.id, n.seq, n.tenant, n.kind, n.key, n.queue, n.priority, n.order_key, n.concurrency_key, n.payload,
            n.revision, n.generation, n.trace, n.enqueued_at, n.deadline_at, n.starts, n.failed, n.crashed, n.deferred,
            n.unknown, n.epoch, n.at, n.dead_reason, n.fingerprint, n.text
        from gone n where n.next = 'dead'
        on conflict (id) do nothing
    ),
    recorded as (
        insert into surefoot.attempt (job, number, epoch, worker, started_at, ended_at, outcome, error)
        select n.id, n.starts, n.epoch, n.worker, n.started_at, n.ended_at, n.outcome, n.error
        from gone n where n.next = 'dead'
        on conflict (job, number) do nothing
    )
    select count(*), array_agg(n.id),
        array_agg(n.tenant) filter (where n.order_key is not null),
        array_agg(n.order_key) filter (where n.order_key is not null),
        array_agg(n.kind) filter (where n.concurrency_key is not null),
        array_agg(n.tenant) filter (where n.concurrency_key is not null),
        array_agg(n.concurrency_key) filter (where n.concurrency_key is not null)
    into v_count, v_applied, v_order_tenants, v_order_keys, v_kinds, v_tenants, v_concurrency_keys
    from gone n;
    -- What waits again stays, and leaves a record of its attempt. A retry and a verification hold their order key.
    if v_waits then
        with went_on as (
            update surefoot.job j
            set state = i.next, failed = i.failed, crashed = i.crashed, deferred = i.deferred, unknown = i.unknown,
                error = i.text, due_at = i.at,
                readiness = surefoot.standing(j.order_key, j.concurrency_key, i.at, p_now)
            from unnest(
                p_jobs, p_epochs, p_lapsed_before, p_failed, p_crashed, p_deferred, p_unknown, p_next, p_at, p_texts,
                p_outcomes, p_errors, p_ended_at)
                i (job, epoch, lapsed_before, failed, crashed, deferred, unknown, next, at, text, outcome, error,
                    ended_at)
            where i.next in ('pending', 'retrying', 'verifying')
                and j.id = i.job and j.epoch = i.epoch and j.state = 'running'
                and (i.lapsed_before is null or j.due_at < i.lapsed_before)
            returning j.id, j.tenant, j.kind, j.order_key, j.concurrency_key, j.state, j.starts, j.epoch, j.worker,
                j.started_at, i.ended_at, i.outcome, i.error
        ),
        recorded as (
            insert into surefoot.attempt (job, number, epoch, worker, started_at, ended_at, outcome, error)
            select w.id, w.starts, w.epoch, w.worker, w.started_at, w.ended_at, w.outcome, w.error from went_on w
            on conflict (job, number) do nothing
        )
        select count(*)::integer as count, array_agg(w.id) as applied,
            array_agg(w.tenant) filter (where w.order_key is not null and w.state = 'pending') as order_tenants,
            array_agg(w.order_key) filter (where w.order_key is not null and w.state = 'pending') as order_keys,
            array_agg(w.kind) filter (where w.concurrency_key is not null) as kinds,
            array_agg(w.tenant) filter (where w.concurrency_key is not null) as tenants,
            array_agg(w.concurrency_key) filter (where w.concurrency_key is not null) as concurrency_keys
        into g
        from went_on w;
        v_count := v_count + g.count;
        v_applied := v_applied || g.applied;
        v_order_tenants := v_order_tenants || g.order_tenants;
        v_order_keys := v_order_keys || g.order_keys;
        v_kinds := v_kinds || g.kinds;
        v_tenants := v_tenants || g.tenants;
        v_concurrency_keys := v_concurrency_keys || g.concurrency_keys;
    end if;
    if cardinality(v_order_keys) > 0 or cardinality(v_concurrency_keys) > 0 then
        perform surefoot.hold_gate();
        perform surefoot.step_forward(
            v_order_tenants, v_order_keys, v_kinds, v_tenants, v_concurrency_keys, p_now);
    end if;
    if v_count = cardinality(p_jobs) then
        return null;
    end if;
    return array(
        select case
            when a.job is not null then 0
            when exists (
                select from surefoot.attempt t
                where t.job = i.job and t.epoch = i.epoch and t.outcome = i.outcome) then 1
            when exists (
                select from surefoot.job_history h
                where h.id = i.job and h.epoch = i.epoch and h.outcome = i.outcome) then 1
            else 2
        end::smallint
        from unnest(p_jobs, p_epochs, p_outcomes) with ordinality i (job, epoch, outcome, place)
        left join (select distinct unnest(v_applied) as job) a on a.job = i.job
        order by i.place);
end $$;

-- Settles, then claims, in one round trip. The last row carries the answers to the settlements, when the next job is
-- due, and how many entries of the index of lanes the claim read; every row but that one is a claimed job.
create function surefoot.advance(
    p_jobs uuid[], p_epochs bigint[], p_lapsed_before bigint[], p_failed integer[], p_crashed integer[],
    p_deferred integer[], p_unknown integer[], p_next text[], p_at bigint[], p_texts text[], p_results text[],
    p_dead_reasons text[], p_fingerprints bigint[], p_outcomes text[], p_errors text[], p_ended_at bigint[],
    p_worker text, p_kinds text[], p_leases bigint[], p_recoveries text[], p_kind_max integer[], p_key_max integer[],
    p_queues text[], p_limit_queues text[], p_limits integer[], p_max integer,
    p_front_queues text[], p_front_kinds text[], p_front_urgencies smallint[], p_front_due bigint[],
    p_front_seq bigint[], p_now bigint)
returns table (
    answers smallint[], next_due bigint, entries_read bigint, id uuid, seq bigint, tenant text, kind text, key text,
    queue text, priority smallint, order_key text, concurrency_key text, payload text, revision integer,
    generation integer, trace text, enqueued_at bigint, deadline_at bigint, starts integer, failed integer,
    crashed integer, deferred integer, unknown integer, due_at bigint, epoch bigint, worker text, started_at bigint,
    lease_until bigint, recovery text, cancel_requested boolean)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_answers smallint[];
    v_next_due bigint;
    v_read_before bigint;
    v_got integer := 0;
begin
    if cardinality(p_jobs) > 0 then
        v_answers := surefoot.settle(
            p_jobs, p_epochs, p_lapsed_before, p_failed, p_crashed, p_deferred, p_unknown, p_next, p_at, p_texts,
            p_results, p_dead_reasons, p_fingerprints, p_outcomes, p_errors, p_ended_at, p_now);
    end if;
    if p_worker is not null then
        v_next_due := surefoot.promote(p_kinds, p_queues, p_now);
    end if;
    v_read_before := surefoot.entries_read();
    if p_max > 0 then
        return query
        select null::smallint[], null::bigint, null::bigint, j.id, j.seq, j.tenant::text, j.kind::text, j.key::text,
            j.queue::text, (- j.urgency)::smallint, j.order_key::text, j.concurrency_key::text, j.payload, j.revision, j.generation,
            j.trace, j.enqueued_at, j.deadline_at, j.starts, j.failed, j.crashed, j.deferred, j.unknown,
            j.was_due_at, j.epoch, j.worker, j.started_at, j.due_at, j.recovery, j.cancel_requested
        from surefoot.claim(
            p_worker, p_kinds, p_leases, p_recoveries, p_kind_max, p_key_max, p_queues, p_limit_queues, p_limits,
            p_max, p_front_queues, p_front_kinds, p_front_urgencies, p_front_due, p_front_seq, p_now) j;
        get diagnostics v_got = row_count;
    end if;
    -- Who got all that was asked for asks again, and who begins at a front sees no more than what is behind it.
    if p_worker is not null and (v_got < p_max or p_max = 0) and p_front_queues is null then
        v_next_due := least(v_next_due, surefoot.first_ahead(p_kinds, p_queues, p_now));
    end if;
    answers := v_answers;
    next_due := v_next_due;
    entries_read := surefoot.entries_read() - v_read_before;
    return next;
end $$;
