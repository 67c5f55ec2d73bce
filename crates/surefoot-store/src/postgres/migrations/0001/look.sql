-- Schema 1, what people look at.

-- Jobs in one shape, by where they are. `ended_at` is when a job was finished or died, `text` what its state says.
create view surefoot.live_job as
select j.id, j.seq, j.tenant, j.kind, j.key, j.queue, (- j.urgency)::smallint as priority, j.order_key,
    j.concurrency_key, j.payload, j.revision, j.generation, j.trace, j.enqueued_at, j.deadline_at, j.starts, j.failed,
    j.crashed, j.deferred, j.unknown, j.due_at, j.epoch, j.worker, j.started_at, j.due_at as lease_until, j.recovery,
    j.cancel_requested, j.state, null::bigint as ended_at, j.error as text, null::text as result,
    null::text as dead_reason, null::bigint as fingerprint, null::bigint as attempt_ended_at, null::text as outcome,
    null::text as attempt_error, null::text as attempt_late, j.readiness
from surefoot.job j;

create view surefoot.dead_job as
select d.id, d.seq, d.tenant, d.kind, d.key, d.queue, d.priority, d.order_key, d.concurrency_key, d.payload,
    d.revision, d.generation, d.trace, d.enqueued_at, d.deadline_at, d.starts, d.failed, d.crashed, d.deferred,
    d.unknown, null::bigint as due_at, d.epoch, null::text as worker, null::bigint as started_at,
    null::bigint as lease_until, null::text as recovery, false as cancel_requested, 'dead' as state,
    d.dead_at as ended_at, d.error as text, null::text as result, d.dead_reason, d.fingerprint,
    null::bigint as attempt_ended_at, null::text as outcome, null::text as attempt_error, null::text as attempt_late,
    null::text as readiness
from surefoot.dead_letter d;

create view surefoot.past_job as
select h.id, h.seq, h.tenant, h.kind, h.key, h.queue, h.priority, h.order_key, h.concurrency_key, h.payload,
    h.revision, h.generation, h.trace, h.enqueued_at, h.deadline_at, h.starts, h.failed, h.crashed, h.deferred,
    h.unknown, null::bigint as due_at, h.epoch, h.worker, h.started_at, null::bigint as lease_until,
    null::text as recovery, false as cancel_requested, h.state, h.ended_at, h.reason as text, h.result,
    null::text as dead_reason, null::bigint as fingerprint, h.attempt_ended_at, h.outcome, h.error as attempt_error,
    h.late as attempt_late, null::text as readiness
from surefoot.job_history h;

create view surefoot.known_job as
select * from surefoot.live_job union all select * from surefoot.dead_job union all select * from surefoot.past_job;

-- Every attempt, for people who ask in SQL; the running ones have no end.
create view surefoot.every_attempt as
select a.job, a.number, a.epoch, a.worker, a.started_at, a.ended_at, a.outcome, a.error, a.late from surefoot.attempt a
union all
select h.id, h.starts, h.epoch, h.worker, h.started_at, h.attempt_ended_at, h.outcome, h.error, h.late
from surefoot.job_history h where h.outcome is not null
union all
select j.id, j.starts, j.epoch, j.worker, j.started_at, null, null, null, null from surefoot.job j where j.state = 'running';

-- The lanes (queue, kind) of dead letters: one probe for each.
create function surefoot.dead_lanes() returns table (queue text, kind text) language sql stable as $$
    with recursive lane (queue, kind) as (
        (select d.queue, d.kind from surefoot.dead_letter d order by d.queue, d.kind limit 1)
        union all
        select n.queue, n.kind from lane l cross join lateral (
            select d.queue, d.kind from surefoot.dead_letter d
            where (d.queue, d.kind) > (l.queue, l.kind)
            order by d.queue, d.kind limit 1) n
    )
    select l.queue, l.kind from lane l
$$;

-- How many jobs of each queue, kind and state wait, run or are dead. Exact while no lane has more than p_exact of a
-- readiness; where one has, the larger of what was counted and an estimate from about 2,000 pages of the table, so that
-- the answer takes milliseconds at any size.
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
begin
    select array_agg(s.queue), array_agg(s.kind), array_agg(s.state), array_agg(s.count), bool_or(s.full_up)
    into v_queues, v_kinds, v_states, v_counts, v_full
    from (
        select c.queue, c.kind, c.state, sum(c.count)::bigint as count, bool_or(c.full_up) as full_up
        from (
            select l.queue, l.kind, n.state, n.count,
                sum(n.count) over (partition by r.readiness, l.queue, l.kind, l.urgency) >= p_exact as full_up
            from unnest(array['ready', 'gated', 'scheduled', 'parked', 'crowded', 'overdue', 'running']) r (readiness)
            cross join lateral surefoot.lanes(r.readiness, null) l
            cross join lateral (
                select w.state, count(*) from (
                    select j.state from surefoot.job j
                    where j.readiness = r.readiness and j.queue = l.queue and j.kind = l.kind and j.urgency = l.urgency
                    limit p_exact) w
                group by w.state) n
            union all
            select l.queue, l.kind, 'dead', n.count, n.count >= p_exact
            from surefoot.dead_lanes() l cross join lateral (
                select count(*) from (
                    select from surefoot.dead_letter d
                    where d.queue = l.queue and d.kind = l.kind limit p_exact) w) n) c
        group by c.queue, c.kind, c.state) s
    where s.count > 0;
    if not coalesce(v_full, false) then
        return query select * from unnest(v_queues, v_kinds, v_states, v_counts);
        return;
    end if;
    return query
    with sample as materialized (
        select * from surefoot.sampled('surefoot.job'::regclass)
        union all
        select * from surefoot.sampled('surefoot.dead_letter'::regclass)
    )
    select c.queue, c.kind, c.state, case when c.count >= p_exact then greatest(c.count, s.count) else c.count end
    from unnest(v_queues, v_kinds, v_states, v_counts) c (queue, kind, state, count)
    left join sample s on s.queue = c.queue and s.kind = c.kind and s.state = c.state;
end $$;

-- About how many jobs of each queue, kind and state a table holds, from about 2,000 of its pages.
create function surefoot.sampled(p_table regclass) returns table (queue text, kind text, state text, count bigint)
language plpgsql stable as $$
declare
    v_percent constant real := least(100, 100 * 2000 / greatest(1, pg_relation_size(p_table) / 8192.0));
begin
    return query execute format(
        'select t.queue::text, t.kind::text, %s, (count(*) * 100 / $1)::bigint
        from %s t tablesample system ($1) group by 1, 2, 3',
        case when p_table = 'surefoot.job'::regclass then 't.state::text' else $q$'dead'$q$ end, p_table)
    using v_percent;
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
        select d.dead_at from surefoot.dead_letter d
        where d.queue = l.queue and d.kind = l.kind order by d.dead_at limit 1) f;
end $$;

-- The database's clock, in microseconds since 1970.
create function surefoot.now_micros() returns bigint language sql volatile as $$
    select (extract(epoch from clock_timestamp()) * 1000000)::bigint
$$;
