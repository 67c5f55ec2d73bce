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
    update surefoot.job j set lease_until = greatest(j.lease_until, i.until)
    from unnest(p_jobs, p_epochs, p_until) with ordinality i (job, epoch, until, place)
    where j.id = i.job and j.epoch = i.epoch and j.state || '' = 'running'
    returning i.place::integer, j.lease_until, j.cancel_requested;
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
    select f.id, f.lease_until from surefoot.running_lanes() l cross join lateral (
        select j.id, j.lease_until from surefoot.job j
        where j.state = 'running' and j.queue = l.queue and j.kind = l.kind and j.lease_until < p_now
        order by j.lease_until limit p_limit) f
    order by f.lease_until, f.id limit p_limit;
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
        update surefoot.job j
        set state = 'dead', readiness = null, dead_at = p_now, dead_reason = i.reason, error = i.error,
            fingerprint = i.fingerprint
        from unnest(p_jobs, p_starts, p_states, p_reasons, p_errors, p_fingerprints)
            i (job, starts, state, reason, error, fingerprint)
        where j.id = i.job and j.starts = i.starts and j.state = i.state and j.deadline_at <= p_now
        returning j.id, j.tenant, j.kind, j.order_key, j.concurrency_key
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

-- Moves a job that does not run to history.
create function surefoot.withdraw(p_job uuid, p_state text, p_reason text, p_now bigint)
returns void language sql as $$
    with gone as (delete from surefoot.job j where j.id = p_job returning j.*)
    insert into surefoot.job_history (
        id, seq, tenant, kind, key, queue, priority, order_key, concurrency_key, payload, revision, generation, trace,
        enqueued_at, deadline_at, starts, failed, crashed, deferred, unknown, state, ended_at, reason)
    select g.id, g.seq, g.tenant, g.kind, g.key, g.queue, g.priority, g.order_key, g.concurrency_key, g.payload,
        g.revision, g.generation, g.trace, g.enqueued_at, g.deadline_at, g.starts, g.failed, g.crashed, g.deferred, g.unknown,
        p_state, p_now, p_reason
    from gone g
    on conflict (id) do nothing
$$;

-- What became of a job that is not in the small table: its final state, or null when there is no such job.
create function surefoot.final_state(p_job uuid) returns text language sql stable as $$
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
begin
    select * into j from surefoot.job where id = p_job for update;
    if not found then
        return surefoot.final_state(p_job);
    elsif j.state = 'dead' then
        return j.state;
    elsif j.state = 'running' then
        if not j.cancel_requested then
            update surefoot.job set cancel_requested = true where id = p_job;
            perform surefoot.record_action(p_job, 'cancel', p_actor, p_reason, p_now);
        end if;
        return 'requested';
    end if;
    perform surefoot.withdraw(p_job, 'cancelled', p_reason, p_now);
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

-- Makes a dead letter pending again. p_effect is `same`, `new` or null; without it, a letter that died for one of
-- p_choice_reasons is not replayed. Answers `done`, `needs_effect`, the state that allows it not, or null when there is no such job.
create function surefoot.replay(
    p_job uuid, p_effect text, p_choice_reasons text[], p_actor text, p_reason text, p_now bigint)
returns text language plpgsql as $$
declare
    j surefoot.job;
begin
    select * into j from surefoot.job where id = p_job for update;
    if not found then
        return surefoot.final_state(p_job);
    elsif j.state <> 'dead' then
        return j.state;
    elsif p_effect is null and j.dead_reason = any (p_choice_reasons) then
        return 'needs_effect';
    end if;
    update surefoot.job
    set state = 'pending', readiness = surefoot.standing(order_key, concurrency_key, p_now, p_now), due_at = p_now,
        failed = 0, crashed = 0, deferred = 0, error = null, dead_at = null, dead_reason = null, fingerprint = null,
        -- What is unknown of an effect stays so until there is a new one.
        unknown = case when p_effect = 'new' then 0 else unknown end,
        generation = generation + case when p_effect = 'new' then 1 else 0 end
    where id = p_job;
    perform surefoot.record_action(
        p_job, case when p_effect = 'new' then 'replay_new' else 'replay' end, p_actor, p_reason, p_now);
    return 'done';
end $$;

-- Sets a dead letter aside for good. Answers `done`, the state that allows it not, or null when there is no such job.
create function surefoot.ignore(p_job uuid, p_actor text, p_reason text, p_now bigint)
returns text language plpgsql as $$
declare
    j surefoot.job;
begin
    select * into j from surefoot.job where id = p_job for update;
    if not found then
        return surefoot.final_state(p_job);
    elsif j.state <> 'dead' then
        return j.state;
    end if;
    perform surefoot.withdraw(p_job, 'ignored', p_reason, p_now);
    perform surefoot.record_action(p_job, 'ignore', p_actor, p_reason, p_now);
    return 'done';
end $$;

-- Replaces a dead letter's payload and keeps the one before. Answers as `ignore` does.
create function surefoot.edit(p_job uuid, p_payload text, p_actor text, p_reason text, p_now bigint)
returns text language plpgsql as $$
declare
    j surefoot.job;
begin
    select * into j from surefoot.job where id = p_job for update;
    if not found then
        return surefoot.final_state(p_job);
    elsif j.state <> 'dead' then
        return j.state;
    end if;
    insert into surefoot.revision (job, number, payload, replaced_at, actor, reason)
    values (p_job, j.revision, j.payload, p_now, p_actor, p_reason);
    update surefoot.job set payload = p_payload, revision = revision + 1 where id = p_job;
    perform surefoot.record_action(p_job, 'edit', p_actor, p_reason, p_now);
    return 'done';
end $$;
