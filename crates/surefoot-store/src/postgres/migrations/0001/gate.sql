-- Schema 1, the gated claim: under limits, and past jobs that stand behind an order key or a concurrency key. All of it
-- runs while the gate is held, so what it counts cannot change by another gated claim before its commit.

-- Whether another job must go before this one: one that runs, retries or verifies under its order key or, unless it
-- does so itself and holds the key, one that was enqueued earlier and is not settled.
create function surefoot.must_wait(p_job uuid, p_tenant text, p_order_key text, p_state text, p_seq bigint)
returns boolean language sql stable as $$
    select p_order_key is not null and (
        exists (
            select from surefoot.job h
            where h.tenant = p_tenant and h.order_key = p_order_key and h.order_key is not null
                and h.state in ('running', 'retrying', 'verifying') and h.id <> p_job)
        or (p_state = 'pending' and exists (
            select from surefoot.job e
            where e.tenant = p_tenant and e.order_key = p_order_key and e.order_key is not null
                and e.state = 'pending' and e.seq < p_seq)))
$$;

-- How many jobs of a concurrency key run.
create function surefoot.running_of_key(p_kind text, p_tenant text, p_concurrency_key text)
returns integer language sql stable as $$
    select count(*)::integer from surefoot.job r
    where r.kind = p_kind and r.tenant = p_tenant and r.concurrency_key = p_concurrency_key
        and r.concurrency_key is not null and r.readiness = 'running'
$$;

-- Brings back jobs that stand crowded although their concurrency key has room for this claim: of at most 256 keys of
-- each of its kinds, the first of each as many as there is room for. What is beyond comes back as others finish.
create function surefoot.uncrowd(p_kinds text[], p_key_max integer[], p_queues text[], p_now bigint)
returns void language plpgsql as $$
begin
    if not exists (select from surefoot.job j where j.readiness = 'crowded') then
        return;
    end if;
    update surefoot.job j
    set readiness = surefoot.standing(j.order_key, j.concurrency_key, j.due_at, p_now)
    where j.id = any (array(
        with recursive crowd (kind, tenant, concurrency_key, key_max, number) as (
            select t.kind, f.tenant, f.concurrency_key, t.key_max, 1
            from unnest(p_kinds, p_key_max) t (kind, key_max) cross join lateral (
                select j.tenant, j.concurrency_key from surefoot.job j
                where j.readiness = 'crowded' and j.kind = t.kind and j.concurrency_key is not null
                order by j.tenant, j.concurrency_key limit 1) f
            union all
            select c.kind, n.tenant, n.concurrency_key, c.key_max, c.number + 1
            from crowd c cross join lateral (
                select j.tenant, j.concurrency_key from surefoot.job j
                where j.readiness = 'crowded' and j.kind = c.kind and j.concurrency_key is not null
                    and (j.tenant, j.concurrency_key) > (c.tenant, c.concurrency_key)
                order by j.tenant, j.concurrency_key limit 1) n
            where c.number < 256
        ),
        room as (
            select c.kind, c.tenant, c.concurrency_key,
                coalesce(c.key_max - surefoot.running_of_key(c.kind, c.tenant, c.concurrency_key), 1000) as room
            from crowd c
        )
        select b.id from room r cross join lateral (
            select j.id from surefoot.job j
            where j.readiness = 'crowded' and j.kind = r.kind and j.tenant = r.tenant
                and j.concurrency_key = r.concurrency_key and j.concurrency_key is not null
                and (p_queues is null or j.queue = any (p_queues))
                and not exists (select from surefoot.queue_pause p where p.queue = j.queue)
            order by j.urgency, j.due_at, j.seq limit r.room for update skip locked) b
        where r.room > 0));
end $$;

-- Lets those come forward whom the end of other jobs set free: for each order key, whoever is in front of its line; for
-- each concurrency key, as many as it is named. The caller holds the gate and what ended is out of the way already.
create function surefoot.step_forward(
    p_order_tenants text[], p_order_keys text[],
    p_kinds text[], p_tenants text[], p_concurrency_keys text[], p_now bigint)
returns void language plpgsql as $$
begin
    if p_order_keys is not null then
        update surefoot.job j
        set readiness = surefoot.standing(j.order_key, j.concurrency_key, j.due_at, p_now)
        where j.id = any (array(
            select l.id
            from (select distinct k.tenant, k.order_key from unnest(p_order_tenants, p_order_keys) k (tenant, order_key)) k
            cross join lateral (
                select f.id from surefoot.job f
                where f.tenant = k.tenant and f.order_key = k.order_key and f.order_key is not null
                    and f.state = 'pending'
                order by f.seq limit 1) front
            cross join lateral (
                select j.id from surefoot.job j
                where j.id = front.id and j.readiness || '' = 'parked'
                    and not surefoot.must_wait(j.id, j.tenant, j.order_key, j.state, j.seq)
                for update skip locked) l));
    end if;
    if p_concurrency_keys is not null then
        update surefoot.job j
        set readiness = surefoot.standing(j.order_key, j.concurrency_key, j.due_at, p_now)
        where j.id = any (array(
            select b.id
            from (
                select k.kind, k.tenant, k.concurrency_key, count(*) as freed
                from unnest(p_kinds, p_tenants, p_concurrency_keys) k (kind, tenant, concurrency_key)
                group by k.kind, k.tenant, k.concurrency_key) k
            cross join lateral (
                select j.id from surefoot.job j
                where j.readiness = 'crowded' and j.kind = k.kind and j.tenant = k.tenant
                    and j.concurrency_key = k.concurrency_key and j.concurrency_key is not null
                order by j.urgency, j.due_at, j.seq limit k.freed for update skip locked) b));
    end if;
end $$;

-- Claims from `ready` and `gated` under the gate. Each pass looks at the first jobs of each lane with room, in the order
-- in which they are claimed, takes what may run and fits the limits, and sets aside what stands behind a key, so that no
-- later claim looks at it. Passes look further as long as they find nothing but such jobs, over 30,000 jobs at most.
create function surefoot.claim_gated(
    p_worker text, p_kinds text[], p_leases bigint[], p_recoveries text[], p_kind_max integer[], p_key_max integer[],
    p_queues text[], p_limit_queues text[], p_limits integer[], p_max integer, p_now bigint)
returns setof surefoot.job language plpgsql as $$
declare
    v_left integer := p_max;
    v_budget integer := 30000;
    v_window integer;
    v_queues text[];
    v_kinds text[];
    v_urgencies smallint[];
    v_gated boolean[];
    v_due bigint[];
    v_seq bigint[];
    v_kind_room integer[];
    v_queue_room integer[];
    v_key_room integer[];
    v_take uuid[];
    v_park uuid[];
    v_crowd uuid[];
    v_bytes bigint;
    v_got integer;
    v_full boolean;
    c record;
begin
    perform surefoot.uncrowd(p_kinds, p_key_max, p_queues, p_now);
    for v_pass in 1..30 loop
        exit when v_left <= 0 or v_budget <= 0;
        select array_agg(t.kind_max - coalesce(r.running, 0) order by t.place) into v_kind_room
        from unnest(p_kinds, p_kind_max) with ordinality t (kind, kind_max, place)
        left join lateral (
            select count(*)::integer as running from surefoot.job j
            where t.kind_max is not null and j.readiness = 'running' and j.kind = t.kind) r on true;
        select array_agg(t.queue_max - r.running order by t.place) into v_queue_room
        from unnest(p_limit_queues, p_limits) with ordinality t (queue, queue_max, place)
        cross join lateral (
            select count(*)::integer as running from surefoot.job j
            where j.readiness = 'running' and j.queue = t.queue) r;
        select array_agg(l.queue), array_agg(l.kind), array_agg(l.urgency), array_agg(l.gated), array_agg(l.due_at),
            array_agg(l.seq)
        into v_queues, v_kinds, v_urgencies, v_gated, v_due, v_seq
        from (
            select r.*, false as gated from surefoot.served('ready', p_kinds, p_queues) r
            union all
            select g.*, true as gated from surefoot.served('gated', p_kinds, p_queues) g) l
        where coalesce(v_kind_room[array_position(p_kinds, l.kind)], 1) > 0
            and coalesce(v_queue_room[array_position(p_limit_queues, l.queue)], 1) > 0;
        exit when v_queues is null;
        v_window := least(v_left + 500 * v_pass, 3000);
        v_take := '{}';
        v_park := '{}';
        v_crowd := '{}';
        v_key_room := '{}';
        v_full := false;
        for c in
            select s.id, s.kind, s.tenant, s.concurrency_key, s.wait, s.kind_place, s.queue_place, s.key_place, s.key_max,
                s.depth = v_window as full
            from (
                select f.*, l.queue, l.kind,
                    array_position(p_kinds, l.kind) as kind_place,
                    array_position(p_limit_queues, l.queue) as queue_place,
                    case when f.concurrency_key is not null
                        then p_key_max[array_position(p_kinds, l.kind)] end as key_max,
                    case when f.concurrency_key is not null
                        then dense_rank() over (order by l.kind, f.tenant, f.concurrency_key) end as key_place,
                    count(*) filter (where not f.wait)
                        over (partition by l.queue order by l.urgency, f.due_at, f.seq) as rank,
                    row_number() over (partition by l.queue, l.kind, l.urgency, f.gated order by f.due_at, f.seq) as depth
                from unnest(v_queues, v_kinds, v_urgencies, v_gated, v_due, v_seq)
                    l (queue, kind, urgency, gated, due_at, seq)
                cross join lateral (
                    select j.id, j.tenant, j.concurrency_key, j.due_at, j.seq, l.gated,
                        l.gated and surefoot.must_wait(j.id, j.tenant, j.order_key, j.state, j.seq) as wait
                    from surefoot.job j
                    where j.readiness = case when l.gated then 'gated' else 'ready' end
                        and j.queue = l.queue and j.kind = l.kind and j.urgency = l.urgency
                        and (j.due_at, j.seq) >= (l.due_at, l.seq) and j.due_at <= p_now
                        and (j.deadline_at is null or j.deadline_at > p_now or j.state = 'verifying')
                    order by j.due_at, j.seq limit v_window) f) s
            order by s.rank, s.queue collate "C"
        loop
            v_full := v_full or c.full;
            v_budget := v_budget - 1;
            if c.wait then
                v_park := v_park || c.id;
                continue;
            end if;
            continue when v_left <= cardinality(v_take);
            if c.key_max is not null then
                if v_key_room[c.key_place] is null then
                    v_key_room[c.key_place] :=
                        c.key_max - surefoot.running_of_key(c.kind, c.tenant, c.concurrency_key);
                end if;
                if v_key_room[c.key_place] <= 0 then
                    v_crowd := v_crowd || c.id;
                    continue;
                end if;
            end if;
            continue when v_kind_room[c.kind_place] <= 0 or v_queue_room[c.queue_place] <= 0;
            v_take := v_take || c.id;
            if c.key_max is not null then
                v_key_room[c.key_place] := v_key_room[c.key_place] - 1;
            end if;
            if v_kind_room[c.kind_place] is not null then
                v_kind_room[c.kind_place] := v_kind_room[c.kind_place] - 1;
            end if;
            if v_queue_room[c.queue_place] is not null then
                v_queue_room[c.queue_place] := v_queue_room[c.queue_place] - 1;
            end if;
        end loop;
        perform surefoot.set_aside('parked', v_park);
        perform surefoot.set_aside('crowded', v_crowd);
        select array_agg(t.id), sum(t.bytes) into v_take, v_bytes
        from (
            select j.id, octet_length(j.payload) as bytes from surefoot.job j
            where j.id = any (v_take) and j.readiness || '' in ('ready', 'gated') for update skip locked) t;
        if v_bytes > 33554432 then
            v_take := surefoot.carried(v_take);
            v_left := 0;
        end if;
        return query select * from surefoot.start(v_take, p_worker, p_kinds, p_leases, p_recoveries, p_now);
        get diagnostics v_got = row_count;
        v_left := v_left - v_got;
        exit when not v_full or (v_got = 0 and cardinality(v_park) = 0 and cardinality(v_crowd) = 0);
    end loop;
end $$;

-- Sets jobs aside that stand behind another, those apart that somebody else is just changing.
create function surefoot.set_aside(p_readiness text, p_jobs uuid[]) returns void language plpgsql as $$
begin
    if cardinality(p_jobs) > 0 then
        update surefoot.job j set readiness = p_readiness
        where j.id = any (array(
            select j.id from surefoot.job j where j.id = any (p_jobs) and j.readiness || '' = 'gated' for update skip locked));
    end if;
end $$;

-- Claims. Only a claim that carries limits, or whose kinds have jobs that share a key, waits for the gate.
create function surefoot.claim(
    p_worker text, p_kinds text[], p_leases bigint[], p_recoveries text[], p_kind_max integer[], p_key_max integer[],
    p_queues text[], p_limit_queues text[], p_limits integer[], p_max integer,
    p_front_queues text[], p_front_kinds text[], p_front_urgencies smallint[], p_front_due bigint[],
    p_front_seq bigint[], p_now bigint)
returns setof surefoot.job language plpgsql as $$
begin
    perform surefoot.set_overdue_aside(p_now);
    if cardinality(p_limit_queues) > 0
        or exists (select from unnest(p_kind_max) m (kind_max) where m.kind_max is not null)
        or (exists (select from surefoot.job j where j.readiness = 'gated')
            and exists (select from surefoot.served('gated', p_kinds, p_queues)))
        or (exists (select from surefoot.job j where j.readiness = 'crowded')
            and exists (
                select from unnest(p_kinds) t (kind)
                where exists (select from surefoot.job j where j.readiness = 'crowded' and j.kind = t.kind)))
    then
        perform surefoot.hold_gate();
        return query select * from surefoot.claim_gated(
            p_worker, p_kinds, p_leases, p_recoveries, p_kind_max, p_key_max, p_queues, p_limit_queues, p_limits,
            p_max, p_now);
    else
        return query select * from surefoot.claim_free(
            p_worker, p_kinds, p_leases, p_recoveries, p_queues, p_max, p_front_queues, p_front_kinds,
            p_front_urgencies, p_front_due, p_front_seq, p_now);
    end if;
end $$;
