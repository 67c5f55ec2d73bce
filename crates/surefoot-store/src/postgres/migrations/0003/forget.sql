-- Schema 3, what is counted and what leaves.

-- What is open for each sink that is on record or has something open, by name. Each state is one walk along its index.
create function surefoot.message_depth(p_max integer)
returns table (sink text, waiting bigint, taken bigint, parked bigint, oldest bigint, oldest_parked bigint)
language sql stable
set enable_seqscan = off
set jit = off
as $$
    with recursive names as (
        (select least(
            (select min(s.sink) from surefoot.subscription s),
            (select min(d.sink) from surefoot.delivery d where d.standing is not null)) as sink, 1 as nr)
        union all
        select least(
            (select min(s.sink) from surefoot.subscription s where s.sink > n.sink),
            (select min(d.sink) from surefoot.delivery d where d.standing is not null and d.sink > n.sink)), n.nr + 1
        from names n where n.sink is not null and n.nr < p_max
    )
    select n.sink, w.count, t.count, p.count,
        (select m.appended_at from surefoot.message m where m.number = least(w.lowest, t.lowest, p.lowest)), p.since
    from names n
    cross join lateral (
        select count(*), min(d.number) as lowest from surefoot.delivery d
        where d.sink = n.sink and d.state = 'waiting' and d.standing is not null) w
    cross join lateral (
        select count(*), min(d.number) as lowest from surefoot.delivery d
        where d.sink = n.sink and d.state = 'taken' and d.standing is not null) t
    cross join lateral (
        select count(*), min(d.number) as lowest, min(d.since) as since from surefoot.delivery d
        where d.sink = n.sink and d.state = 'parked' and d.standing is not null) p
    where n.sink is not null
    order by n.sink
$$;

-- Forgets deliveries that ended, then messages without any, at most p_limit of each, the oldest first. What is open is in
-- neither index.
create function surefoot.forget_messages(p_before bigint, p_limit integer)
returns table (deliveries bigint, messages bigint, more boolean) language plpgsql as $$
#variable_conflict use_variable
declare
    v_numbers bigint[];
    v_sinks text[];
    v_over bigint[];
begin
    -- One at a time, and none while a sink is being given what is kept: that would be of messages that leave.
    perform surefoot.hold_subscriptions();
    perform pg_advisory_xact_lock(hashtextextended('surefoot' || ' forget', 0));
    select coalesce(array_agg(e.number), '{}'), coalesce(array_agg(e.sink), '{}') into v_numbers, v_sinks
    from (
        select d.number, d.sink from surefoot.delivery d
        where d.standing is null and d.since <= p_before
        order by d.since, d.number, d.sink limit p_limit + 1) e;
    more := cardinality(v_numbers) > p_limit;
    v_numbers := v_numbers[1:p_limit];
    v_sinks := v_sinks[1:p_limit];
    delete from surefoot.delivery d using unnest(v_sinks, v_numbers) e (sink, number)
    where d.sink = e.sink and d.number = e.number and d.state in ('delivered', 'skipped');
    get diagnostics deliveries = row_count;
    update surefoot.message m set deliveries = m.deliveries - g.gone
    from (select e.number, count(*)::integer as gone from unnest(v_numbers) e (number) group by e.number) g
    where m.number = g.number;
    select coalesce(array_agg(o.number), '{}') into v_over
    from (
        select m.number from surefoot.message m
        where m.deliveries = 0 and m.appended_at <= p_before
        order by m.appended_at, m.number limit p_limit + 1) o;
    more := more or cardinality(v_over) > p_limit;
    v_over := v_over[1:p_limit];
    delete from surefoot.delivery_order d where d.number = any (v_over);
    delete from surefoot.message m where m.number = any (v_over) and m.deliveries = 0;
    get diagnostics messages = row_count;
    return next;
end $$;

-- Forgets the oldest receipts, but those of messages of this outbox that are on record; answers how many.
create function surefoot.forget_receipts(p_before bigint, p_limit integer) returns bigint language sql volatile as $$
    with leaving as materialized (
        select r.tenant, r.source, r.message, r.consumer from surefoot.receipt r
        where r.accepted_at <= p_before and not (r.source = 'outbox' and exists (
            select from surefoot.message m where m.tenant = r.tenant and m.id = r.message))
        order by r.accepted_at limit p_limit for update skip locked),
    gone as (
        delete from surefoot.receipt r using leaving l
        where r.tenant = l.tenant and r.source = l.source and r.message = l.message and r.consumer = l.consumer
        returning 1)
    select count(*) from gone
$$;
