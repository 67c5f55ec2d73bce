-- Schema 3, append and subscribe.

-- The lock of all subscriptions: shared by those who append, until their commit, and exclusive to who changes them, so that
-- no message falls between an append and a subscription. Under read committed, the next statement sees what was committed
-- before the lock was had. A transaction with an older view may not see it; it locks the row that every change changes,
-- which PostgreSQL refuses (40001) when that is newer than the view.
create function surefoot.hold_subscriptions() returns void language plpgsql as $$
begin
    perform pg_advisory_xact_lock_shared(hashtextextended('surefoot' || ' subscriptions', 0));
    if current_setting('transaction_isolation') <> 'read committed' then
        perform 1 from surefoot.subscription_version for share;
    end if;
end $$;

-- Writes messages down, in the order of the batch, each with a delivery to every sink of its topic. Answers for each its
-- number and whether it was written; where it was not, who has the id. Messages of one key are in the order of commits:
-- whoever appends holds the key until its commit. Keys in one order in every batch, so that two never wait for each other.
create function surefoot.append_messages(
    p_tenants text[], p_ids text[], p_topics text[], p_keys text[], p_payloads text[], p_traces text[],
    p_appended_at bigint[])
returns table (
    place integer, written boolean, number bigint, tenant text, id text, topic text, key text, payload text, trace text,
    appended_at bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_last bigint;
    v_lock bigint;
begin
    perform surefoot.hold_subscriptions();
    for v_lock in
        select distinct hashtextextended('surefoot' || ' key ' || i.tenant || ' ' || i.key, 0) as lock
        from unnest(p_tenants, p_keys) i (tenant, key) where i.key is not null order by lock
    loop
        perform pg_advisory_xact_lock(v_lock);
    end loop;
    return query
    with item as materialized (
        select i.*, i.place::integer as nr
        from unnest(p_tenants, p_ids, p_topics, p_keys, p_payloads, p_traces, p_appended_at) with ordinality
            i (tenant, id, topic, key, payload, trace, appended_at, place)
    ),
    written as (
        insert into surefoot.message (tenant, id, topic, key, payload, trace, appended_at, deliveries)
        select i.tenant, i.id, i.topic, i.key, i.payload, i.trace, i.appended_at,
            (select count(distinct s.sink) from surefoot.subscription s where s.topic in (i.topic, '*'))
        from item i order by i.nr
        on conflict on constraint message_id do nothing
        returning number, tenant, id, topic, key, appended_at
    ),
    made as (
        insert into surefoot.delivery (sink, number, tenant, key, state, standing, due_at)
        select w.sink, w.number, w.tenant, w.key, 'waiting', case when w.key is null then 'front' else 'fresh' end,
            w.appended_at
        from (
            select distinct s.sink, w.number, w.tenant, w.key, w.appended_at
            from written w join surefoot.subscription s on s.topic in (w.topic, '*')) w
        order by w.number, w.sink
    )
    -- Of two items with one id in one batch the first was written.
    select i.nr, true, w.number, null::text, null::text, null::text, null::text, null::text, null::text, null::bigint
    from written w
    cross join lateral (
        select min(i.nr) as nr from item i where i.tenant = w.tenant and i.id = w.id) i;
    get diagnostics v_last = row_count;
    if v_last = array_length(p_ids, 1) then
        return;
    end if;
    -- Those that were there before, and the repetitions within the batch: the caller takes for each place the first answer.
    return query
    select i.place::integer, false, m.number, m.tenant, m.id, m.topic, m.key, m.payload, m.trace, m.appended_at
    from unnest(p_tenants, p_ids) with ordinality i (tenant, id, place)
    join surefoot.message m on m.tenant = i.tenant and m.id = i.id;
end $$;

-- Appends one message in the caller's own transaction, from any client: it is there if and only if that transaction commits.
-- Answers its number and `written`; `already` when its id is there for the same message; `conflict` when it is there for
-- another one, and then nothing was written. Without an id one is made. Payloads are the same when their texts are, or
-- their jsonb values. Waits for another open transaction that appended under the same key: append late in a transaction.
create function surefoot.append(
    topic text, payload text default 'null', key text default null, id text default null,
    tenant text default 'default', trace text default null)
returns table (message_id text, message_number bigint, outcome text) language plpgsql as $$
#variable_conflict use_variable
declare
    v_id text := coalesce(id, surefoot.new_job_id()::text);
    v_known record;
begin
    if topic is null or payload is null or tenant is null then
        raise exception 'topic, payload and tenant must not be null' using errcode = '22004';
    end if;
    perform surefoot.check_name('topic', topic, 128, true);
    perform surefoot.check_name('tenant', tenant, 128, true);
    perform surefoot.check_name('message id', v_id, 255, false);
    perform surefoot.check_name('key', key, 255, false);
    if octet_length(payload) > 1048576 then
        raise exception 'payload has % bytes, at most 1048576 are accepted', octet_length(payload) using errcode = '22023';
    elsif trace is not null and trace !~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' then
        raise exception 'trace is no traceparent of version 00' using errcode = '22023';
    end if;
    perform payload::json;
    select a.* into strict v_known
    from surefoot.append_messages(
        array[tenant], array[v_id], array[topic], array[key], array[payload], array[trace],
        array[surefoot.micros(clock_timestamp())]) a;
    message_id := v_id;
    message_number := v_known.number;
    outcome := case
        when v_known.written then 'written'
        when v_known.topic = topic and v_known.key is not distinct from key
            and surefoot.same_payload(v_known.payload, payload) then 'already'
        else 'conflict'
    end;
    return next;
end $$;

-- The same for a payload that is at hand as jsonb.
create function surefoot.append(
    topic text, payload jsonb, key text default null, id text default null, tenant text default 'default',
    trace text default null)
returns table (message_id text, message_number bigint, outcome text) language sql as $$
    select * from surefoot.append(topic, payload::text, key, id, tenant, trace)
$$;

-- Gives a sink topics that it does not get yet, and what is kept of them where that is asked for. Answers how many
-- deliveries were made; null, and nothing was changed, when more than p_max are kept.
create function surefoot.subscribe(p_sink text, p_topics text[], p_kept boolean, p_max bigint)
returns bigint language plpgsql as $$
declare
    v_new text[];
    v_numbers bigint[] := '{}';
begin
    -- A look without the lock: every start of a relay asks, and nearly always there is nothing to change.
    if not exists (select from surefoot.topics_to_add(p_sink, p_topics)) then
        return 0;
    end if;
    perform set_config('lock_timeout', '2s', true);
    perform pg_advisory_xact_lock(hashtextextended('surefoot' || ' subscriptions', 0));
    select array_agg(t.topic) into v_new from surefoot.topics_to_add(p_sink, p_topics) t (topic);
    if v_new is null then
        return 0;
    end if;
    update surefoot.subscription_version set version = version + 1;
    if p_kept then
        select coalesce(array_agg(k.number), '{}') into v_numbers
        from (
            select m.number from surefoot.message m
            where (m.topic = any (v_new) or '*' = any (v_new))
                and not exists (
                    select from surefoot.subscription s where s.sink = p_sink and s.topic = m.topic)
                and not exists (
                    select from surefoot.delivery d where d.sink = p_sink and d.number = m.number)
            limit p_max + 1) k;
        if cardinality(v_numbers) > p_max then
            return null;
        end if;
        insert into surefoot.delivery (sink, number, tenant, key, state, standing, due_at)
        select p_sink, m.number, m.tenant, m.key, 'waiting', case when m.key is null then 'front' else 'fresh' end,
            m.appended_at
        from surefoot.message m where m.number = any (v_numbers) order by m.number;
        update surefoot.message m set deliveries = m.deliveries + 1 where m.number = any (v_numbers);
    end if;
    insert into surefoot.subscription (topic, sink) select t, p_sink from unnest(v_new) t;
    return cardinality(v_numbers);
end $$;

-- Those of some topics that a sink does not get.
create function surefoot.topics_to_add(p_sink text, p_topics text[]) returns setof text language sql stable as $$
    select distinct t from unnest(p_topics) t
    where not exists (
        select from surefoot.subscription s where s.sink = p_sink and s.topic in (t, '*'))
$$;

-- Takes topics away from a sink; all of them when there are none to name. Answers whether anything changed.
create function surefoot.unsubscribe(p_sink text, p_topics text[]) returns boolean language plpgsql as $$
begin
    perform set_config('lock_timeout', '2s', true);
    perform pg_advisory_xact_lock(hashtextextended('surefoot' || ' subscriptions', 0));
    delete from surefoot.subscription s where s.sink = p_sink and (p_topics is null or s.topic = any (p_topics));
    if found then
        update surefoot.subscription_version set version = version + 1;
        return true;
    end if;
    return false;
end $$;
