-- Schema 1, claim. Every function here is volatile and runs in a transaction that reads what is committed: each of its
-- statements sees what was committed when it began, also after it waited for the gate.

-- The gate: whoever claims under limits or order keys, or changes who stands behind them, holds it until its commit.
-- A holder never waits for a row after it has the gate, and is one statement of the client, so that no client can
-- hold it longer than its server needs.
create function surefoot.hold_gate() returns void language plpgsql as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'surefoot needs transactions that read what is committed' using errcode = '25001';
    end if;
    perform pg_advisory_xact_lock(1398096454, hashtext('surefoot'));
end $$;

-- The lanes that hold jobs of a readiness, in the order of the index, each with its first job: one probe for each.
create function surefoot.lanes(p_readiness text, p_queues text[])
returns table (queue text, kind text, urgency smallint, due_at bigint, seq bigint) language plpgsql stable as $$
#variable_conflict use_column
begin
    if p_queues is null then
        return query
        with recursive lane (queue, kind, urgency, due_at, seq) as (
            (select j.queue, j.kind, j.urgency, j.due_at, j.seq from surefoot.job j
            where j.readiness = p_readiness
            order by j.queue, j.kind, j.urgency, j.due_at, j.seq limit 1)
            union all
            select n.* from lane l cross join lateral (
                select j.queue, j.kind, j.urgency, j.due_at, j.seq from surefoot.job j
                where j.readiness = p_readiness
                    and (j.queue, j.kind, j.urgency) > (l.queue, l.kind, l.urgency)
                order by j.queue, j.kind, j.urgency, j.due_at, j.seq limit 1) n
        )
        select l.queue, l.kind, l.urgency, l.due_at, l.seq from lane l;
    else
        return query
        with recursive lane (queue, kind, urgency, due_at, seq) as (
            select f.* from (select distinct unnest(p_queues) as queue) q cross join lateral (
                select j.queue, j.kind, j.urgency, j.due_at, j.seq from surefoot.job j
                where j.readiness = p_readiness and j.queue = q.queue
                order by j.kind, j.urgency, j.due_at, j.seq limit 1) f
            union all
            select n.* from lane l cross join lateral (
                select j.queue, j.kind, j.urgency, j.due_at, j.seq from surefoot.job j
                where j.readiness = p_readiness and j.queue = l.queue
                    and (j.kind, j.urgency) > (l.kind, l.urgency)
                order by j.kind, j.urgency, j.due_at, j.seq limit 1) n
        )
        select l.queue, l.kind, l.urgency, l.due_at, l.seq from lane l;
    end if;
end $$;

-- Where a waiting job of these keys and due time stands when nothing is in its way.
create function surefoot.standing(p_order_key text, p_concurrency_key text, p_due_at bigint, p_now bigint)
returns text language sql immutable as $$
    select case
        when p_due_at > p_now then 'scheduled'
        when p_order_key is null and p_concurrency_key is null then 'ready'
        else 'gated'
    end
$$;

-- The served lanes of a readiness: of the claim's kinds and queues, and not paused.
create function surefoot.served(p_readiness text, p_kinds text[], p_queues text[])
returns table (queue text, kind text, urgency smallint, due_at bigint, seq bigint) language sql stable as $$
    select l.queue, l.kind, l.urgency, l.due_at, l.seq from surefoot.lanes(p_readiness, p_queues) l
    where l.kind = any (p_kinds)
        and not exists (select from surefoot.queue_pause p where p.queue = l.queue collate "C")
$$;

-- Brings scheduled jobs whose time has come to where they are claimed: the due ones of each served lane, 1,000 of a
-- lane at a time. Answers when the next one is due.
create function surefoot.promote(p_kinds text[], p_queues text[], p_now bigint)
returns bigint language plpgsql as $$
declare
    v_next bigint;
    v_due boolean;
begin
    if not exists (select from surefoot.job j where j.readiness = 'scheduled') then
        return null;
    end if;
    for v_pass in 1..10 loop
        select min(l.due_at) filter (where l.due_at > p_now), coalesce(bool_or(l.due_at <= p_now), false)
        into v_next, v_due
        from surefoot.served('scheduled', p_kinds, p_queues) l;
        exit when not v_due;
        update surefoot.job j
        set readiness = surefoot.standing(j.order_key, j.concurrency_key, j.due_at, p_now)
        where j.id = any (array(
            select d.id from surefoot.served('scheduled', p_kinds, p_queues) l cross join lateral (
                select j.id from surefoot.job j
                where j.readiness = 'scheduled' and j.queue = l.queue and j.kind = l.kind
                    and j.urgency = l.urgency and j.due_at <= p_now
                order by j.due_at, j.seq limit 1000 for update skip locked) d));
        exit when not found;
    end loop;
    -- What came to its time is behind: the first of each lane that is ahead.
    if v_due then
        select min(f.due_at) into v_next
        from surefoot.served('scheduled', p_kinds, p_queues) l
        cross join lateral (
            select j.due_at from surefoot.job j
            where j.readiness = 'scheduled' and j.queue = l.queue and j.kind = l.kind
                and j.urgency = l.urgency and j.due_at > p_now
            order by j.due_at limit 1) f;
    end if;
    return v_next;
end $$;

-- When the first of the served jobs is due that stand where they are claimed and are ahead of this claim: the clock of
-- whoever handed them in was.
create function surefoot.first_ahead(p_kinds text[], p_queues text[], p_now bigint)
returns bigint language sql stable as $$
    select min(f.due_at)
    from unnest(array['ready', 'gated']) r (readiness)
    cross join lateral surefoot.served(r.readiness, p_kinds, p_queues) l
    cross join lateral (
        select j.due_at from surefoot.job j
        where j.readiness = r.readiness and j.queue = l.queue and j.kind = l.kind
            and j.urgency = l.urgency and j.due_at > p_now
        order by j.due_at limit 1) f
$$;

-- Takes jobs whose deadline passed out of the way; `expire` makes dead letters of them. A verifying job is asked about
-- whatever its deadline.
create function surefoot.set_overdue_aside(p_now bigint) returns void language plpgsql as $$
begin
    loop
        update surefoot.job j set readiness = 'overdue'
        where j.id = any (array(
            select o.id from unnest(array['ready', 'gated']) r (readiness) cross join lateral (
                select j.id from surefoot.job j
                where j.readiness = r.readiness and j.deadline_at is not null and j.state <> 'verifying'
                    and j.deadline_at <= p_now
                order by j.deadline_at limit 5000 for update skip locked) o));
        exit when not found;
    end loop;
end $$;

-- The first of these jobs whose payloads have 32 MiB together, or the first one alone: what one answer carries.
create function surefoot.carried(p_jobs uuid[]) returns uuid[] language sql stable as $$
    select coalesce(array_agg(s.id order by s.place), '{}')
    from (
        select i.id, i.place, sum(octet_length(j.payload)) over (order by i.place) as bytes
        from unnest(p_jobs) with ordinality i (id, place) join surefoot.job j on j.id = i.id) s
    where s.bytes <= 33554432 or s.place = 1
$$;

-- Starts attempts of jobs that the caller has locked.
create function surefoot.start(
    p_jobs uuid[], p_worker text, p_kinds text[], p_leases bigint[], p_recoveries text[], p_now bigint)
returns setof surefoot.job language plpgsql as $$
begin
    return query
    update surefoot.job j
    set state = 'running', readiness = 'running', starts = j.starts + 1, epoch = j.epoch + 1, worker = p_worker,
        started_at = p_now, was_due_at = j.due_at, due_at = least(p_now + t.lease, 253402300799000000),
        recovery = t.recovery
    from unnest(p_kinds, p_leases, p_recoveries) t (kind, lease, recovery)
    where j.id = any (p_jobs) and t.kind = j.kind
    returning j.*;
end $$;

-- How many entries of the index of lanes this transaction has read, dead ones included.
create function surefoot.entries_read() returns bigint language sql volatile as $$
    select coalesce(pg_stat_get_xact_tuples_returned('surefoot.job_lane'::regclass), 0)
$$;

-- Claims from `ready`, where nothing has to be counted and nobody waited for: from all lanes, or from the places in some
-- of them that p_front names. When there are several lanes, it looks at them without locks first, so that it locks of
-- each what it takes of it and leaves the rest to other claimers.
create function surefoot.claim_free(
    p_worker text, p_kinds text[], p_leases bigint[], p_recoveries text[], p_queues text[], p_max integer,
    p_front_queues text[], p_front_kinds text[], p_front_urgencies smallint[], p_front_due bigint[],
    p_front_seq bigint[], p_now bigint)
returns setof surefoot.job language plpgsql as $$
declare
    v_left integer := p_max;
    v_queues text[];
    v_kinds text[];
    v_urgencies smallint[];
    v_due bigint[];
    v_seq bigint[];
    v_takes integer[];
    v_jobs uuid[];
    v_bytes bigint;
    v_seen integer;
    v_got integer;
begin
    for v_pass in 1..4 loop
        exit when v_left <= 0;
        if p_front_queues is not null then
            select array_agg(l.queue), array_agg(l.kind), array_agg(l.urgency), array_agg(l.due_at), array_agg(l.seq),
                array_agg(v_left)
            into v_queues, v_kinds, v_urgencies, v_due, v_seq, v_takes
            from unnest(p_front_queues, p_front_kinds, p_front_urgencies, p_front_due, p_front_seq)
                l (queue, kind, urgency, due_at, seq)
            where l.kind = any (p_kinds) and (p_queues is null or l.queue = any (p_queues))
                and not exists (select from surefoot.queue_pause p where p.queue = l.queue collate "C");
        else
            select array_agg(l.queue), array_agg(l.kind), array_agg(l.urgency), array_agg(l.due_at), array_agg(l.seq),
                array_agg(v_left)
            into v_queues, v_kinds, v_urgencies, v_due, v_seq, v_takes
            from surefoot.served('ready', p_kinds, p_queues) l;
        end if;
        exit when v_queues is null;
        v_seen := 0;
        if cardinality(v_queues) > 1 then
            select array_agg(s.queue), array_agg(s.kind), array_agg(s.urgency), array_agg(s.due_at), array_agg(s.seq),
                array_agg(s.take), coalesce(sum(s.take), 0)
            into v_queues, v_kinds, v_urgencies, v_due, v_seq, v_takes, v_seen
            from (
                select r.queue, r.kind, r.urgency, r.due_at, r.seq, count(*)::integer as take
                from (
                    select l.queue, l.kind, l.urgency, l.due_at, l.seq,
                        row_number() over (partition by l.queue order by l.urgency, c.due_at, c.seq) as rank
                    from unnest(v_queues, v_kinds, v_urgencies, v_due, v_seq) l (queue, kind, urgency, due_at, seq)
                    cross join lateral (
                        select j.due_at, j.seq from surefoot.job j
                        where j.readiness = 'ready' and j.queue = l.queue and j.kind = l.kind
                            and j.urgency = l.urgency and (j.due_at, j.seq) >= (l.due_at, l.seq)
                            and j.due_at <= p_now
                        order by j.due_at, j.seq limit v_left) c
                    order by rank, l.queue collate "C" limit v_left) r
                group by r.queue, r.kind, r.urgency, r.due_at, r.seq) s;
            exit when v_queues is null;
        end if;
        select array_agg(p.id), coalesce(sum(p.bytes), 0) into v_jobs, v_bytes
        from unnest(v_queues, v_kinds, v_urgencies, v_due, v_seq, v_takes) l (queue, kind, urgency, due_at, seq, take)
        cross join lateral (
            select j.id, octet_length(j.payload) as bytes from surefoot.job j
            where j.readiness = 'ready' and j.queue = l.queue and j.kind = l.kind
                and j.urgency = l.urgency and (j.due_at, j.seq) >= (l.due_at, l.seq) and j.due_at <= p_now
                and (j.deadline_at is null or j.deadline_at > p_now or j.state = 'verifying')
            order by j.due_at, j.seq limit l.take for update skip locked) p;
        exit when v_jobs is null;
        if v_bytes > 33554432 then
            v_jobs := surefoot.carried(v_jobs);
            v_left := 0;
        end if;
        return query select * from surefoot.start(v_jobs, p_worker, p_kinds, p_leases, p_recoveries, p_now);
        get diagnostics v_got = row_count;
        -- Fewer than seen: others hold some of those, and there may be more behind them.
        exit when v_seen < v_left;
        v_left := v_left - v_got;
    end loop;
end $$;
