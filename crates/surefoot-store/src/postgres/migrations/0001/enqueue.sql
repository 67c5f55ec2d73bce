-- Schema 1, enqueue. The primary key of job_key is the arbiter of a key: never a look before the insert.

-- A job's payload as it was first enqueued, whatever became of it.
create function surefoot.first_payload(p_job uuid) returns text language sql stable as $$
    select coalesce(
        (select r.payload from surefoot.revision r where r.job = p_job and r.number = 0),
        (select j.payload from surefoot.job j where j.id = p_job),
        (select d.payload from surefoot.dead_letter d where d.id = p_job),
        (select h.payload from surefoot.job_history h where h.id = p_job))
$$;

-- Whether a job without a key that was just written down has ended before: its id says so alone, and then this was its
-- call repeated, and what was written is taken back. Looked at after the insert, so that it cannot end unseen in between.
create function surefoot.is_repeated(p_job uuid) returns boolean language plpgsql as $$
begin
    if exists (select from surefoot.job_history h where h.id = p_job)
        or exists (select from surefoot.dead_letter d where d.id = p_job)
    then
        delete from surefoot.job j where j.id = p_job;
        return true;
    end if;
    return false;
end $$;

-- Writes jobs down, in the order of the batch; p_lowest and p_highest bound the ids of those without a key. Answers one
-- row for each item whose key another job holds: which job, and its payload as first enqueued unless that is the same
-- text. An item without a row was created, now or by an earlier run of the same call. `holder` is null when the holder
-- left in the meantime: enqueue that item again. With p_patience (such as `100ms`), a key that another open transaction
-- holds for longer ends the batch with the SQLSTATE 55P03.
create function surefoot.enqueue_batch(
    p_ids uuid[], p_tenants text[], p_kinds text[], p_keys text[], p_queues text[], p_priorities smallint[],
    p_order_keys text[], p_concurrency_keys text[], p_payloads text[], p_traces text[], p_run_at bigint[],
    p_deadline_at bigint[], p_enqueued_at bigint[], p_lowest uuid, p_highest uuid, p_patience text)
returns table (place integer, holder uuid, same boolean, payload text)
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
    if p_patience is not null then
        perform set_config('lock_timeout', p_patience, true);
    end if;
    -- Keys in one order in every batch, so that two batches never wait for each other.
    with item as materialized (
        select * from unnest(
            p_ids, p_tenants, p_kinds, p_keys, p_queues, p_priorities, p_order_keys, p_concurrency_keys, p_payloads,
            p_traces, p_run_at, p_deadline_at, p_enqueued_at) with ordinality
            i (id, tenant, kind, key, queue, priority, order_key, concurrency_key, payload, trace, run_at, deadline_at,
                enqueued_at, place)
    ),
    claimed as (
        insert into surefoot.job_key (key, kind, tenant, job)
        select i.key, i.kind, i.tenant, i.id from item i where i.key is not null
        order by i.key collate "C", i.kind collate "C", i.tenant collate "C", i.place
        on conflict (key, kind, tenant) do nothing
        returning job
    )
    insert into surefoot.job (
        id, tenant, kind, key, queue, urgency, order_key, concurrency_key, payload, trace, enqueued_at, deadline_at,
        readiness, due_at)
    select i.id, i.tenant, i.kind, i.key, i.queue, - i.priority, i.order_key, i.concurrency_key, i.payload, i.trace,
        i.enqueued_at, i.deadline_at,
        surefoot.standing(i.order_key, i.concurrency_key, coalesce(i.run_at, i.enqueued_at), i.enqueued_at),
        coalesce(i.run_at, i.enqueued_at)
    from item i
    where i.key is null or i.id in (select c.job from claimed c)
    order by i.place
    on conflict (id) do nothing;
    -- As `is_repeated`, for all of them: ids are mostly new, and a look at their range says so.
    if exists (select from surefoot.job_history h where h.id between p_lowest and p_highest)
        or exists (select from surefoot.dead_letter d where d.id between p_lowest and p_highest)
    then
        delete from surefoot.job j
        where j.id = any (array(
            select e.id from unnest(p_ids, p_keys) i (id, key) cross join lateral (
                select h.id from surefoot.job_history h where h.id = i.id
                union all
                select d.id from surefoot.dead_letter d where d.id = i.id) e
            where i.key is null));
    end if;
    if array_length(array_remove(p_keys, null), 1) > 0 then
        return query
        select i.place::integer, k.job, o.payload is not distinct from i.payload,
            case when o.payload is distinct from i.payload then o.payload end
        from unnest(p_ids, p_tenants, p_kinds, p_keys, p_payloads) with ordinality
            i (id, tenant, kind, key, payload, place)
        left join surefoot.job_key k on k.key = i.key and k.kind = i.kind and k.tenant = i.tenant
        left join lateral (select surefoot.first_payload(k.job) as payload) o on true
        where i.key is not null and k.job is distinct from i.id;
    end if;
end $$;

-- A job id: a UUID version 7 of this moment.
create function surefoot.new_job_id() returns uuid language sql volatile as $$
    select (
        substr(t.hex, 1, 12) || '7' || substr(r.hex, 1, 3)
        || substr('89ab', 1 + get_byte(r.bytes, 15) % 4, 1) || substr(r.hex, 4, 15))::uuid
    from (select lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') as hex) t
    cross join (
        select replace(u.id::text, '-', '') as hex, uuid_send(u.id) as bytes
        from (select gen_random_uuid() as id) u) r
$$;

-- Microseconds since 1970 of a time, within what the engine keeps.
create function surefoot.micros(p_time timestamptz) returns bigint language sql immutable as $$
    select greatest(0, least(253402300799000000, case
        when p_time = 'infinity' then 253402300799000000
        when p_time = '-infinity' then 0
        else (extract(epoch from p_time) * 1000000)::bigint
    end))
$$;

-- Refuses a name that the engine would not take, with the same bounds as its own types.
create function surefoot.check_name(p_what text, p_name text, p_bytes_max integer, p_word boolean)
returns void language plpgsql immutable as $$
begin
    if p_name is null then
        return;
    elsif octet_length(p_name) not between 1 and p_bytes_max then
        raise exception '% has % bytes; give 1 to %', p_what, octet_length(p_name), p_bytes_max using errcode = '22023';
    elsif p_word and p_name collate "C" ~ '[^a-zA-Z0-9_.:/-]' then
        raise exception '% holds a character that it must not; use letters, digits and _ . : / -', p_what
            using errcode = '22023';
    elsif p_name collate "C" ~ U&'[\0001-\001f\007f-\009f]' then
        raise exception '% holds a control character', p_what using errcode = '22023';
    end if;
end $$;

-- Enqueues one job in the caller's own transaction, from any client: it is there if and only if that transaction commits.
-- Answers its id and `created`; `existing` when the (tenant, kind, key) has a job with the same payload; `conflict` when it
-- has one with another payload, and then nothing was written. Payloads are the same when their texts are, or their jsonb
-- values: 1.0 and 1.00 are the same here, while the engine takes them for two. Waits for another open transaction that
-- holds the key. With `notify`, other nodes are told at commit; that serialises commits, so leave it off under load.
create function surefoot.enqueue(
    kind text, payload text default 'null', key text default null, queue text default 'default',
    run_at timestamptz default null, priority integer default 0, order_key text default null,
    deadline_at timestamptz default null, tenant text default 'default', concurrency_key text default null,
    trace text default null, notify boolean default false)
returns table (job_id uuid, outcome text) language plpgsql as $$
#variable_conflict use_variable
declare
    v_now bigint := surefoot.micros(clock_timestamp());
    v_due bigint := coalesce(surefoot.micros(run_at), v_now);
    v_holder uuid;
    v_payload text;
begin
    if kind is null or payload is null or queue is null or tenant is null or priority is null then
        raise exception 'kind, payload, queue, tenant and priority must not be null' using errcode = '22004';
    end if;
    perform surefoot.check_name('kind', kind, 128, true);
    perform surefoot.check_name('queue', queue, 128, true);
    perform surefoot.check_name('tenant', tenant, 128, true);
    perform surefoot.check_name('key', key, 255, false);
    perform surefoot.check_name('order_key', order_key, 255, false);
    perform surefoot.check_name('concurrency_key', concurrency_key, 255, false);
    if priority not between -100 and 100 then
        raise exception 'priority is %; give -100 to 100', priority using errcode = '22023';
    elsif octet_length(payload) > 1048576 then
        raise exception 'payload has % bytes, at most 1048576 are accepted', octet_length(payload) using errcode = '22023';
    elsif trace is not null and trace !~ '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' then
        raise exception 'trace is no traceparent of version 00' using errcode = '22023';
    end if;
    perform payload::json;
    job_id := surefoot.new_job_id();
    outcome := 'created';
    if key is not null then
        for v_try in 1..10 loop
            insert into surefoot.job_key as k (key, kind, tenant, job) values (key, kind, tenant, job_id)
            on conflict on constraint job_key_pkey do nothing;
            exit when found;
            select k.job, surefoot.first_payload(k.job) into v_holder, v_payload
            from surefoot.job_key k
            where k.key = enqueue.key and k.kind = enqueue.kind and k.tenant = enqueue.tenant;
            if v_holder is not null then
                job_id := v_holder;
                outcome := case when surefoot.same_payload(v_payload, payload) then 'existing' else 'conflict' end;
                return next;
                return;
            end if;
        end loop;
        if not found then
            raise exception 'the key changes hands too fast' using errcode = '40001';
        end if;
    end if;
    insert into surefoot.job (
        id, tenant, kind, key, queue, urgency, order_key, concurrency_key, payload, trace, enqueued_at, deadline_at,
        readiness, due_at)
    values (
        job_id, tenant, kind, key, queue, - priority, order_key, concurrency_key, payload, trace, v_now,
        surefoot.micros(deadline_at), surefoot.standing(order_key, concurrency_key, v_due, v_now), v_due);
    if notify then
        perform pg_notify('surefoot', queue);
    end if;
    return next;
end $$;

-- The same for a payload that is at hand as jsonb.
create function surefoot.enqueue(
    kind text, payload jsonb, key text default null, queue text default 'default',
    run_at timestamptz default null, priority integer default 0, order_key text default null,
    deadline_at timestamptz default null, tenant text default 'default', concurrency_key text default null,
    trace text default null, notify boolean default false)
returns table (job_id uuid, outcome text) language sql as $$
    select * from surefoot.enqueue(
        kind, payload::text, key, queue, run_at, priority, order_key, deadline_at, tenant, concurrency_key, trace, notify)
$$;

-- Whether two payloads say the same: by text, else by jsonb where both have such a form (not with \u0000).
create function surefoot.same_payload(p_one text, p_other text) returns boolean language plpgsql immutable as $$
begin
    return p_one = p_other or p_one::jsonb = p_other::jsonb;
exception when data_exception or syntax_error_or_access_rule_violation or program_limit_exceeded then
    return false;
end $$;
