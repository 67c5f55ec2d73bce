-- Schema 3, taking, marking and steering deliveries.

-- The gate of a sink: whoever takes, marks or steers holds it until its commit, and nobody else changes who stands where.
-- Under read committed, the next statement sees what was committed before the gate was had. Who appends never waits for it,
-- nor makes anybody wait who holds it.
create function surefoot.hold_sink(p_sink text) returns void language sql volatile as $$
    select pg_advisory_xact_lock(hashtextextended('surefoot' || ' sink ' || p_sink, 0))
$$;

-- Gives fresh deliveries of a sink their standing, at most p_max of them; answers how many. The first of a line that has no
-- front stands in front.
create function surefoot.stand_in_line(p_sink text, p_max integer) returns integer language plpgsql as $$
declare
    v_count integer;
begin
    with fresh as materialized (
        select d.place, d.tenant, d.key from surefoot.delivery d
        where d.sink = p_sink and d.standing = 'fresh' order by d.place limit p_max
    ),
    firsts as materialized (
        select min(f.place) as place from fresh f
        where not exists (
            select from surefoot.delivery o
            where o.sink = p_sink and o.tenant = f.tenant and o.key = f.key and o.key is not null
                and o.standing = 'front')
        group by f.tenant, f.key
    )
    update surefoot.delivery d
    set standing = case when d.place in (select s.place from firsts s) then 'front' else 'behind' end
    from fresh f
    where d.sink = p_sink and d.tenant = f.tenant and d.key = f.key and d.place = f.place and d.standing = 'fresh';
    get diagnostics v_count = row_count;
    return v_count;
end $$;

-- Those behind a place in a line are not taken any more.
create function surefoot.give_back(p_sink text, p_tenant text, p_key text, p_place bigint)
returns void language sql volatile as $$
    update surefoot.delivery d set state = 'waiting', lease_until = null
    where d.sink = p_sink and d.tenant = p_tenant and d.key = p_key and d.place > p_place
        and d.standing is not null and d.key is not null and d.state = 'taken'
$$;

-- The next one of a line comes to the front.
create function surefoot.move_up(p_sink text, p_tenant text, p_key text, p_place bigint)
returns void language sql volatile as $$
    update surefoot.delivery d set standing = 'front'
    where d.sink = p_sink and d.tenant = p_tenant and d.key = p_key and d.standing in ('fresh', 'behind')
        and d.place = (
            select n.place from surefoot.delivery n
            where n.sink = p_sink and n.tenant = p_tenant and n.key = p_key and n.place > p_place
                and n.standing is not null and n.key is not null
            order by n.place limit 1)
$$;

-- Takes deliveries for a holder: those in front and due, the longest due first, each with as many as stand behind it. The
-- rows of one key follow one another, under one epoch. Whoever finds that there is nothing has waited for nobody.
create function surefoot.take_deliveries(
    p_sink text, p_holder text, p_now bigint, p_lease_until bigint, p_keys_max integer, p_per_key_max integer,
    p_max integer)
returns table (
    epoch bigint, number bigint, tenant text, id text, topic text, key text, payload text, trace text, appended_at bigint,
    failed integer, lost integer)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
    f record;
    v_epoch bigint;
    v_left integer := p_max;
    v_count integer;
begin
    if not exists (select from surefoot.delivery d where d.sink = p_sink and d.standing = 'fresh')
        and not exists (
            select from surefoot.delivery d
            where d.sink = p_sink and d.standing = 'front' and d.state in ('waiting', 'taken') and d.due_at <= p_now
                and (d.state = 'waiting' or d.lease_until <= p_now))
    then
        return;
    end if;
    perform surefoot.hold_sink(p_sink);
    for v_round in 1..20 loop
        exit when surefoot.stand_in_line(p_sink, 1000) < 1000;
    end loop;
    for f in
        select d.place, d.number, d.tenant, d.key, d.state = 'taken' as lapsed
        from surefoot.delivery d
        where d.sink = p_sink and d.standing = 'front' and d.state in ('waiting', 'taken') and d.due_at <= p_now
            and (d.state = 'waiting' or d.lease_until <= p_now)
        order by d.due_at, d.number limit p_keys_max
    loop
        exit when v_left = 0;
        if f.lapsed then
            perform surefoot.give_back(p_sink, f.tenant, f.key, f.place);
        end if;
        v_epoch := nextval('surefoot.delivery_epoch');
        return query
        with line as materialized (
            select f.number as number, f.place as place
            union all (
                select n.number, n.place from surefoot.delivery n
                where n.sink = p_sink and n.tenant = f.tenant and n.key = f.key and n.place > f.place
                    and n.standing is not null and n.key is not null
                order by n.place limit least(p_per_key_max, v_left) - 1)
        ),
        taken as (
            update surefoot.delivery d
            set state = 'taken', epoch = v_epoch, holder = p_holder, lease_until = p_lease_until,
                standing = case when d.standing = 'fresh' then 'behind' else d.standing end,
                lost = d.lost + (f.lapsed and d.number = f.number)::integer
            where d.sink = p_sink and d.number = any (array(select l.number from line l))
                and d.state in ('waiting', 'taken')
            returning d.number, d.failed, d.lost, d.place
        )
        select v_epoch, t.number, m.tenant, m.id, m.topic, m.key, m.payload, m.trace, m.appended_at, t.failed, t.lost
        from taken t join surefoot.message m on m.number = t.number
        order by t.place;
        get diagnostics v_count = row_count;
        v_left := v_left - v_count;
    end loop;
end $$;

-- Writes down what became of deliveries, in the order of the batch; p_ats is when they ended or were parked, or when they are
-- due, p_texts the proof or the error. Answers for each 0 (applied), 1 (already applied before: the same call repeated) or 2
-- (stale: nothing was written).
create function surefoot.mark_deliveries(
    p_sinks text[], p_numbers bigint[], p_epochs bigint[], p_next text[], p_ats bigint[], p_texts text[],
    p_failed integer[])
returns smallint[] language plpgsql as $$
declare
    v_answers smallint[] := '{}';
    v_line record;
    v_sink text;
begin
    for v_sink in select distinct s from unnest(p_sinks) s order by s loop
        perform surefoot.hold_sink(v_sink);
    end loop;
    for i in 1..cardinality(p_sinks) loop
        update surefoot.delivery d
        set state = p_next[i],
            standing = case when p_next[i] = 'delivered' then null else d.standing end,
            lease_until = null,
            since = case when p_next[i] = 'waiting' then null else p_ats[i] end,
            due_at = case when p_next[i] = 'waiting' then p_ats[i] else d.due_at end,
            proof = case when p_next[i] = 'delivered' then p_texts[i] end,
            error = case when p_next[i] = 'delivered' then d.error else coalesce(p_texts[i], d.error) end,
            failed = coalesce(p_failed[i], d.failed)
        where d.sink = p_sinks[i] and d.number = p_numbers[i] and d.epoch = p_epochs[i]
            and d.state = 'taken' and d.standing = 'front'
        returning d.tenant, d.key, d.place into v_line;
        if not found then
            v_answers := v_answers || case when exists (
                select from surefoot.delivery d
                where d.sink = p_sinks[i] and d.number = p_numbers[i] and d.epoch = p_epochs[i] and d.state = p_next[i])
                then 1::smallint else 2::smallint end;
            continue;
        end if;
        v_answers := v_answers || 0::smallint;
        if v_line.key is null then
            continue;
        elsif p_next[i] = 'delivered' then
            perform surefoot.move_up(p_sinks[i], v_line.tenant, v_line.key, v_line.place);
        else
            perform surefoot.give_back(p_sinks[i], v_line.tenant, v_line.key, v_line.place);
        end if;
    end loop;
    return v_answers;
end $$;

-- Carries out a person's order on a parked delivery. Answers the state that it was in; null when there is none.
create function surefoot.steer_delivery(
    p_sink text, p_number bigint, p_verb text, p_now bigint, p_actor text, p_reason text)
returns text language plpgsql as $$
declare
    v_known record;
begin
    perform surefoot.hold_sink(p_sink);
    select d.state, d.tenant, d.key, d.place into v_known
    from surefoot.delivery d where d.sink = p_sink and d.number = p_number;
    if not found then
        return null;
    elsif v_known.state <> 'parked' then
        return v_known.state;
    end if;
    if p_verb = 'again' then
        update surefoot.delivery d set state = 'waiting', since = null, due_at = p_now, failed = 0, lost = 0
        where d.sink = p_sink and d.number = p_number and d.state = 'parked';
    else
        update surefoot.delivery d
        set state = 'skipped', standing = null, since = p_now, actor = p_actor, reason = p_reason
        where d.sink = p_sink and d.number = p_number and d.state = 'parked';
        if v_known.key is not null then
            perform surefoot.move_up(p_sink, v_known.tenant, v_known.key, v_known.place);
        end if;
    end if;
    insert into surefoot.delivery_order (number, sink, verb, at, actor, reason)
    values (p_number, p_sink, p_verb, p_now, p_actor, p_reason);
    return 'parked';
end $$;
