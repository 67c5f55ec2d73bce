-- Schema 1, leases between claim and settlement, and what people order.

-- Extends leases, never shortens one. Items stand in the order of their ids; an item without a row has lost its lease.
create function surefoot.extend(p_jobs uuid[], p_epochs bigint[], p_until bigint[])
returns table (place integer, lease_until bigint, cancel_requested boolean)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    update surefoot.job j set due_at = greatest(j.due_at, i.until)
    from unnest(p_jobs, p_epochs, p_until) with ordinality i (job, epoch, until, place)
    where j.id = i.job and j.epoch = i.epoch and j.state = 'running'
    returning i.place::integer, j.due_at, j.cancel_requested;
end $$;

-- The ids of running jobs whose lease ended before p_now, the longest ended first.
create function surefoot.lapsed(p_now bigint, p_limit integer) returns table (id uuid, lease_until bigint)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select f.id, f.due_at from surefoot.lanes('running', null) l cross join lateral (
        select j.id, j.due_at from surefoot.job j
        where j.readiness = 'running' and j.queue = l.queue and j.kind = l.kind and j.urgency = l.urgency
            and j.due_at < p_now
        order by j.due_at limit p_limit) f
    where l.due_at < p_now
    order by f.due_at, f.id limit p_limit;
end $$;

-- Makes dead letters of waiting jobs that are past their deadline, unless they were claimed or changed since they were
-- seen (p_starts, p_states). Answers which. Items stand in the order of their ids.
create function surefoot.expire(
    p_jobs uuid[], p_starts integer[], p_states text[], p_reasons text[], p_errors text[], p_fingerprints bigint[],
    p_now bigint)
returns uuid[]
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    g record;
begin
    with gone as (
        delete from surefoot.job j
        using unnest(p_jobs, p_starts, p_states, p_reasons, p_errors, p_fingerprints)
            i (job, starts, state, reason, error, fingerprint)
        where j.id = i.job and j.starts = i.starts and j.state = i.state and j.state <> 'verifying'
            and j.deadline_at <= p_now
        returning j.*, i.reason as dead_reason, i.error as last_words, i.fingerprint
    ),
    died as (
        insert into surefoot.dead_letter (
            id, seq, tenant, kind, key, queue, priority, order_key, concurrency_key, payload, revision, generation,
            trace, enqueued_at, deadline_at, starts, failed, crashed, deferred, unknown, epoch, dead_at, dead_reason,
            fingerprint, error)
        select n.id, n.seq, n.tenant, n.kind, n.key, n.queue, - n.urgency, n.order_key, n.concurrency_key, n.payload,
            n.revision, n.generation, n.trace, n.enqueued_at, n.deadline_at, n.starts, n.failed, n.crashed, n.deferred,
            n.unknown, n.epoch, p_now, n.dead_reason, n.fingerprint, n.last_words
        from gone n
        on conflict (id) do nothing
    )
    select array_agg(n.id) as ids,
        array_agg(n.tenant) filter (where n.order_key is not null) as order_tenants,
        array_agg(n.order_key) filter (where n.order_key is not null) as order_keys,
        array_agg(n.kind) filter (where n.concurrency_key is not null) as kinds,
        array_agg(n.tenant) filter (where n.concurrency_key is not null) as tenants,
        array_agg(n.concurrency_key) filter (where n.concurrency_key is not null) as concurrency_keys
    into g
    from gone n;
    if cardinality(g.order_keys) > 0 or cardinality(g.concurrency_keys) > 0 then
        perform surefoot.hold_gate();
        perform surefoot.step_forward(
            g.order_tenants, g.order_keys, g.kinds, g.tenants, g.concurrency_keys, p_now);
    end if;
    return g.ids;
end $$;

-- The state of a job that does not wait or run, or null when there is no such job.
create function surefoot.settled_state(p_job uuid) returns text language sql stable as $$
    select 'dead' from surefoot.dead_letter d where d.id = p_job
    union all
    select h.state from surefoot.job_history h where h.id = p_job
$$;

create function surefoot.record_action(p_job uuid, p_verb text, p_actor text, p_reason text, p_now bigint)
returns void language sql as $$
    insert into surefoot.action (job, verb, at, actor, reason) values (p_job, p_verb, p_now, p_actor, p_reason)
$$;

-- Withdraws a job. Answers `done`, `requested`, the state that allows it not, or null when there is no such job.
create function surefoot.cancel(p_job uuid, p_actor text, p_reason text, p_now bigint)
returns text language plpgsql as $$
declare
    j surefoot.job;
    v_settled text;
begin
    -- A job that moves between the tables is in one of them when it is looked for again.
    for v_look in 1..3 loop
        select * into j from surefoot.job where id = p_job for update;
        exit when found;
        v_settled := surefoot.settled_state(p_job);
        if v_settled is not null then
            return v_settled;
        end if;
    end loop;
    if j.id is null then
        return null;
    elsif j.state in ('running', 'verifying') or j.unknown > 0 then
        if not j.cancel_requested then
            update surefoot.job set cancel_requested = true where id = p_job;
            perform surefoot.record_action(p_job, 'cancel', p_actor, p_reason, p_now);
        end if;
        return 'requested';
    end if;
    delete from surefoot.job where id = p_job;
    insert into surefoot.job_history (
        id, seq, tenant, kind, key, queue, priority, order_key, concurrency_key, payload, revision, generation, trace,
        enqueued_at, deadline_at, starts, failed, crashed, deferred, unknown, state, ended_at, reason)
    values (
        j.id, j.seq, j.tenant, j.kind, j.key, j.queue, - j.urgency, j.order_key, j.concurrency_key, j.payload,
        j.revision, j.generation, j.trace, j.enqueued_at, j.deadline_at, j.starts, j.failed, j.crashed, j.deferred,
        j.unknown, 'cancelled', p_now, p_reason)
    on conflict (id) do nothing;
    perform surefoot.record_action(p_job, 'cancel', p_actor, p_reason, p_now);
    if j.order_key is not null or j.concurrency_key is not null then
        perform surefoot.hold_gate();
        perform surefoot.step_forward(
            case when j.order_key is not null then array[j.tenant] end,
            case when j.order_key is not null then array[j.order_key] end,
            case when j.concurrency_key is not null then array[j.kind] end,
            case when j.concurrency_key is not null then array[j.tenant] end,
            case when j.concurrency_key is not null then array[j.concurrency_key] end, p_now);
    end if;
    return 'done';
end $$;

-- The state of a job that is no dead letter, or null when there is no such job.
create function surefoot.other_state(p_job uuid) returns text language plpgsql as $$
declare
    v_state text;
begin
    for v_look in 1..3 loop
        select j.state into v_state from surefoot.job j where j.id = p_job;
        v_state := coalesce(v_state, surefoot.settled_state(p_job));
        exit when v_state is not null;
    end loop;
    return v_state;
end $$;

-- Makes a dead letter pending again, in its old place. p_effect is `same`, `new` or null; without it, a letter that died
-- for one of p_choice_reasons is not replayed. Answers `done`, `needs_effect`, the state that allows it not, or null when
-- there is no such job.
create function surefoot.replay(
    p_job uuid, p_effect text, p_choice_reasons text[], p_actor text, p_reason text, p_now bigint)
returns text language plpgsql as $$
declare
    d surefoot.dead_letter;
begin
    select * into d from surefoot.dead_letter where id = p_job for update;
    if not found then
        return surefoot.other_state(p_job);
    elsif p_effect is null and d.dead_reason = any (p_choice_reasons) then
        return 'needs_effect';
    end if;
    delete from surefoot.dead_letter where id = p_job;
    insert into surefoot.job (
        id, seq, tenant, kind, key, queue, urgency, order_key, concurrency_key, payload, revision, generation, trace,
        enqueued_at, deadline_at, starts, unknown, epoch, readiness, due_at)
    overriding system value
    values (
        d.id, d.seq, d.tenant, d.kind, d.key, d.queue, - d.priority, d.order_key, d.concurrency_key, d.payload,
        d.revision, d.generation + case when p_effect = 'new' then 1 else 0 end, d.trace, d.enqueued_at,
        -- A person wants it to run, also after its deadline.
        case when d.deadline_at > p_now then d.deadline_at end,
        -- What is unknown of an effect stays so until there is a new one.
        d.starts, case when p_effect = 'new' then 0 else d.unknown end, d.epoch,
        surefoot.standing(d.order_key, d.concurrency_key, p_now, p_now), p_now);
    perform surefoot.record_action(
        p_job, case when p_effect = 'new' then 'replay_new' else 'replay' end, p_actor, p_reason, p_now);
    return 'done';
end $$;

-- Sets a dead letter aside for good. Answers `done`, the state that allows it not, or null when there is no such job.
create function surefoot.ignore(p_job uuid, p_actor text, p_reason text, p_now bigint)
returns text language plpgsql as $$
declare
    d surefoot.dead_letter;
begin
    select * into d from surefoot.dead_letter where id = p_job for update;
    if not found then
        return surefoot.other_state(p_job);
    end if;
    delete from surefoot.dead_letter where id = p_job;
    insert into surefoot.job_history (
        id, seq, tenant, kind, key, queue, priority, order_key, concurrency_key, payload, revision, generation, trace,
        enqueued_at, deadline_at, starts, failed, crashed, deferred, unknown, state, ended_at, reason)
    values (
        d.id, d.seq, d.tenant, d.kind, d.key, d.queue, d.priority, d.order_key, d.concurrency_key, d.payload,
        d.revision, d.generation, d.trace, d.enqueued_at, d.deadline_at, d.starts, d.failed, d.crashed, d.deferred,
        d.unknown, 'ignored', p_now, p_reason)
    on conflict (id) do nothing;
    perform surefoot.record_action(p_job, 'ignore', p_actor, p_reason, p_now);
    return 'done';
end $$;

-- Replaces a dead letter's payload and keeps the one before. Answers as `ignore` does.
create function surefoot.edit(p_job uuid, p_payload text, p_actor text, p_reason text, p_now bigint)
returns text language plpgsql as $$
declare
    d surefoot.dead_letter;
begin
    select * into d from surefoot.dead_letter where id = p_job for update;
    if not found then
        return surefoot.other_state(p_job);
    end if;
    insert into surefoot.revision (job, number, payload, replaced_at, actor, reason)
    values (p_job, d.revision, d.payload, p_now, p_actor, p_reason);
    update surefoot.dead_letter set payload = p_payload, revision = revision + 1 where id = p_job;
    perform surefoot.record_action(p_job, 'edit', p_actor, p_reason, p_now);
    return 'done';
end $$;
