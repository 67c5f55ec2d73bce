-- Schema 1, what people look at.

-- Every job that is known, in one shape. `ended_at` is when it was finished or died, `text` what its state says.
create view surefoot.known_job as
select j.id, j.seq, j.tenant, j.kind, j.key, j.queue, j.priority, j.order_key, j.concurrency_key, j.payload, j.revision,
    j.generation, j.trace, j.enqueued_at, j.deadline_at, j.starts, j.failed, j.crashed, j.deferred, j.unknown, j.due_at, j.epoch,
    j.worker, j.started_at, j.lease_until, j.recovery, j.cancel_requested, j.state, j.dead_at as ended_at, j.error as text,
    null::text as result, j.dead_reason, j.fingerprint, null::bigint as attempt_ended_at, null::text as outcome,
    null::text as attempt_error
from surefoot.job j
union all
select h.id, h.seq, h.tenant, h.kind, h.key, h.queue, h.priority, h.order_key, h.concurrency_key, h.payload, h.revision,
    h.generation, h.trace, h.enqueued_at, h.deadline_at, h.starts, h.failed, h.crashed, h.deferred, h.unknown, null::bigint, h.epoch,
    h.worker, h.started_at, null::bigint, null::text, false, h.state, h.ended_at, h.reason,
    h.result, null::text, null::bigint, h.attempt_ended_at, h.outcome,
    h.error
from surefoot.job_history h;

-- Every attempt, for people who ask in SQL; the running ones have no end.
create view surefoot.every_attempt as
select a.job, a.number, a.epoch, a.worker, a.started_at, a.ended_at, a.outcome, a.error from surefoot.attempt a
union all
select h.id, h.starts, h.epoch, h.worker, h.started_at, h.attempt_ended_at, h.outcome, h.error
from surefoot.job_history h where h.outcome is not null
union all
select j.id, j.starts, j.epoch, j.worker, j.started_at, null, null, null from surefoot.job j where j.state = 'running';

-- The lanes (queue, kind) of what runs, and of dead letters: one probe for each.
create function surefoot.running_lanes() returns table (queue text, kind text) language sql stable as $$
    with recursive lane (queue, kind) as (
        (select j.queue, j.kind from surefoot.job j where j.state = 'running' order by j.queue, j.kind limit 1)
        union all
        select n.queue, n.kind from lane l cross join lateral (
            select j.queue, j.kind from surefoot.job j
            where j.state = 'running' and (j.queue, j.kind) > (l.queue, l.kind)
            order by j.queue, j.kind limit 1) n
    )
    select l.queue, l.kind from lane l
$$;

create function surefoot.dead_lanes() returns table (queue text, kind text) language sql stable as $$
    with recursive lane (queue, kind) as (
        (select j.queue, j.kind from surefoot.job j where j.state = 'dead' order by j.queue, j.kind limit 1)
        union all
        select n.queue, n.kind from lane l cross join lateral (
            select j.queue, j.kind from surefoot.job j
            where j.state = 'dead' and (j.queue, j.kind) > (l.queue, l.kind)
            order by j.queue, j.kind limit 1) n
    )
    select l.queue, l.kind from lane l
$$;

-- How many jobs there are of each queue, kind and state in the small table. Exact while no lane has more than p_exact of
-- a readiness or state; where one has, the larger of what was counted and an estimate from about 2,000 pages of the
-- table, so that the answer takes milliseconds at any size.
create function surefoot.depth(p_exact integer) returns table (queue text, kind text, state text, count bigint)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_queues text[];
    v_kinds text[];
    v_states text[];
    v_counts bigint[];
    v_full boolean;
    v_percent real;
begin
    select array_agg(s.queue), array_agg(s.kind), array_agg(s.state), array_agg(s.count), bool_or(s.full_up)
    into v_queues, v_kinds, v_states, v_counts, v_full
    from (
        select c.queue, c.kind, c.state, sum(c.count)::bigint as count, bool_or(c.full_up) as full_up
        from (
            select l.queue, l.kind, n.state, n.count, sum(n.count) over (partition by r.readiness, l.queue, l.kind, l.priority)
                >= p_exact as full_up
            from unnest(array['ready', 'gated', 'scheduled', 'parked', 'crowded', 'overdue']) r (readiness)
            cross join lateral surefoot.lanes(r.readiness, null) l
            cross join lateral (
                select w.state, count(*) from (
                    select j.state from surefoot.job j
                    where j.readiness = r.readiness and j.queue = l.queue and j.kind = l.kind
                        and - j.priority = - l.priority
                    limit p_exact) w
                group by w.state) n
            union all
            select l.queue, l.kind, 'running', n.count, n.count >= p_exact
            from surefoot.running_lanes() l cross join lateral (
                select count(*) from (
                    select from surefoot.job j
                    where j.state = 'running' and j.queue = l.queue and j.kind = l.kind limit p_exact) w) n
            union all
            select l.queue, l.kind, 'dead', n.count, n.count >= p_exact
            from surefoot.dead_lanes() l cross join lateral (
                select count(*) from (
                    select from surefoot.job j
                    where j.state = 'dead' and j.queue = l.queue and j.kind = l.kind limit p_exact) w) n) c
        group by c.queue, c.kind, c.state) s
    where s.count > 0;
    if not coalesce(v_full, false) then
        return query select * from unnest(v_queues, v_kinds, v_states, v_counts);
        return;
    end if;
    v_percent := least(100, 100 * 2000 / greatest(1, pg_relation_size('surefoot.job') / 8192.0));
    return query
    with sample as materialized (
        select j.queue, j.kind, j.state, (count(*) * 100 / v_percent)::bigint as count
        from surefoot.job j tablesample system (v_percent) group by j.queue, j.kind, j.state
    )
    select c.queue, c.kind, c.state, case when c.count >= p_exact then greatest(c.count, s.count) else c.count end
    from unnest(v_queues, v_kinds, v_states, v_counts) c (queue, kind, state, count)
    left join sample s on s.queue = c.queue collate "C" and s.kind = c.kind collate "C" and s.state = c.state collate "C";
end $$;

-- The due time of the job that waits the longest past it, and when the oldest dead letter died.
create function surefoot.oldest(p_now bigint, out due_at bigint, out dead_at bigint)
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
begin
    select min(l.due_at) into due_at
    from unnest(array['ready', 'gated', 'scheduled', 'parked', 'crowded', 'overdue']) r (readiness)
    cross join lateral surefoot.lanes(r.readiness, null) l
    where l.due_at <= p_now;
    select min(f.dead_at) into dead_at
    from surefoot.dead_lanes() l cross join lateral (
        select j.dead_at from surefoot.job j
        where j.state = 'dead' and j.queue = l.queue and j.kind = l.kind order by j.dead_at limit 1) f;
end $$;

-- The database's clock, in microseconds since 1970.
create function surefoot.now_micros() returns bigint language sql volatile as $$
    select (extract(epoch from clock_timestamp()) * 1000000)::bigint
$$;
