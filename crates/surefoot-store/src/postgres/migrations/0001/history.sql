-- Schema 1, history: its partitions, and how it is dropped. A partition holds the jobs whose ids, and so whose enqueuing,
-- fall into one week; a table of attempts and one of effects go with it.

-- The lowest id of a time.
create function surefoot.id_floor(p_micros bigint) returns uuid language sql immutable as $$
    select (lpad(to_hex(p_micros / 1000), 12, '0') || repeat('0', 20))::uuid
$$;

-- Makes the partitions of this week and of the next two: each one costs a little wherever history is looked into. One that cannot be had at once (a lock that somebody holds, or
-- rows of that week in the default partition, where they may stay) is left to the next call.
create function surefoot.prepare_partitions(p_now bigint) returns void language plpgsql as $$
declare
    v_week constant bigint := 604800000000;
    v_from bigint;
    v_suffix text;
    v_taken boolean;
    t record;
begin
    perform set_config('lock_timeout', '500ms', true);
    for v_number in 0..2 loop
        v_from := (p_now / v_week + v_number) * v_week;
        v_suffix := to_char(to_timestamp(v_from / 1000000) at time zone 'UTC', 'YYYYMMDD');
        for t in select * from (values ('job_history', 'id'), ('attempt', 'job'), ('effect', 'job')) t (parent, id_column) loop
            continue when to_regclass(format('surefoot.%I', t.parent || '_' || v_suffix)) is not null;
            execute format(
                'select exists (select from surefoot.%I where %I >= $1 and %I < $2)',
                t.parent || '_default', t.id_column, t.id_column)
            into v_taken using surefoot.id_floor(v_from), surefoot.id_floor(v_from + v_week);
            continue when v_taken;
            begin
                execute format(
                    'create table surefoot.%I (like surefoot.%I including all)', t.parent || '_' || v_suffix, t.parent);
                execute format(
                    'alter table surefoot.%I attach partition surefoot.%I for values from (%L) to (%L)',
                    t.parent, t.parent || '_' || v_suffix,
                    surefoot.id_floor(v_from), surefoot.id_floor(v_from + v_week));
            exception when lock_not_available or check_violation then
                null;
            end;
        end loop;
    end loop;
end $$;

-- The weeks that have a partition: the end of its name, the ids that it holds, and when the week was over.
create function surefoot.weeks_of(p_parent text)
returns table (suffix text, low uuid, high uuid, over_at bigint) language sql stable as $$
    select w.suffix, surefoot.id_floor(w.starts), surefoot.id_floor(w.starts + 604800000000), w.starts + 604800000000
    from (
        select right(c.relname, 8) as suffix,
            (extract(epoch from to_date(right(c.relname, 8), 'YYYYMMDD')) * 1000000)::bigint as starts
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = to_regclass(format('surefoot.%I', p_parent)) and c.relname ~ '_[0-9]{8}$') w
$$;

-- Drops what ended before p_cutoff, one bounded step. Jobs that are not finished keep all their records.
create function surefoot.drop_history(p_cutoff bigint, out jobs_dropped bigint, out more boolean)
language plpgsql as $$
declare
    v_ids uuid[];
    w record;
begin
    jobs_dropped := 0;
    more := false;
    -- The default partition, row by row: it holds ids of no known week, and what outlived its week.
    -- As many jobs as have 5,000 effects together, or the first one alone.
    select array_agg(s.id) into v_ids
    from (
        select d.id, d.place, sum(e.effects) over (order by d.place) as effects
        from (
            select h.id, row_number() over (order by h.ended_at) as place
            from surefoot.job_history_default h where h.ended_at < p_cutoff
            order by h.ended_at limit 1000) d
        cross join lateral (select count(*) as effects from surefoot.effect e where e.job = d.id) e) s
    where s.effects <= 5000 or s.place = 1;
    if v_ids is not null then
        perform surefoot.forget(v_ids);
        delete from surefoot.attempt a where a.job = any (v_ids);
        delete from surefoot.effect e where e.job = any (v_ids);
        delete from surefoot.job_history_default h where h.id = any (v_ids);
        get diagnostics jobs_dropped = row_count;
        more := true;
        return;
    end if;
    for w in select * from surefoot.weeks_of('job_history') v where v.over_at < p_cutoff order by v.low loop
        select s.jobs_dropped, s.more into jobs_dropped, more from surefoot.drop_week(w.suffix, w.low, w.high, p_cutoff) s;
        if more then
            return;
        end if;
    end loop;
    perform surefoot.drop_records(p_cutoff);
end $$;

-- Frees the keys of jobs that leave, and drops what people did to them.
create function surefoot.forget(p_jobs uuid[]) returns void language plpgsql as $$
begin
    delete from surefoot.job_key k where k.job = any (p_jobs);
    delete from surefoot.revision r where r.job = any (p_jobs);
    delete from surefoot.action a where a.job = any (p_jobs);
end $$;

-- One step towards dropping a week: some of its keys and records, or at last its partition. Jobs of that week which ended
-- later move to the default partition; while they are 10,000 or more, the week is left as it is.
create function surefoot.drop_week(
    p_suffix text, p_low uuid, p_high uuid, p_cutoff bigint, out jobs_dropped bigint, out more boolean)
language plpgsql
set enable_seqscan = off
as $$
declare
    v_table constant text := format('surefoot.%I', 'job_history_' || p_suffix);
    v_late uuid[];
    v_leave uuid[];
begin
    jobs_dropped := 0;
    more := false;
    perform brin_summarize_new_values(x.indexrelid)
    from pg_index x join pg_class c on c.oid = x.indexrelid join pg_am m on m.oid = c.relam
    where x.indrelid = v_table::regclass and m.amname = 'brin';
    execute format('select array(select h.id from %s h where h.ended_at >= $1 limit 10000)', v_table)
    into v_late using p_cutoff;
    if cardinality(v_late) >= 10000 then
        return;
    end if;
    v_leave := array(
        select k.job from surefoot.job_key k
        where k.job >= p_low and k.job < p_high and not k.job = any (v_late)
            and not exists (select from surefoot.job j where j.id = k.job)
            and not exists (select from surefoot.dead_letter d where d.id = k.job)
            and not exists (select from surefoot.job_history_default h where h.id = k.job)
        limit 5000)
        || array(
        select a.job from surefoot.action a
        where a.job >= p_low and a.job < p_high and not a.job = any (v_late)
            and not exists (select from surefoot.job j where j.id = a.job)
            and not exists (select from surefoot.dead_letter d where d.id = a.job)
            and not exists (select from surefoot.job_history_default h where h.id = a.job)
        limit 5000);
    if cardinality(v_leave) > 0 then
        perform surefoot.forget(v_leave);
        more := true;
        return;
    end if;
    begin
        execute format('alter table surefoot.job_history detach partition %s', v_table);
    exception when lock_not_available then
        return;
    end;
    -- Nobody writes to it any more, so this is all that ended late.
    execute format(
        'with late as (insert into surefoot.job_history select * from %s h where h.ended_at >= $1 returning 1)
        select count(*) from late', v_table)
    into jobs_dropped using p_cutoff;
    jobs_dropped := surefoot.about_rows(v_table::regclass) - jobs_dropped;
    execute format('drop table %s', v_table);
    more := true;
end $$;

-- How many rows a table has: counted while it is small, else as it was when it was last vacuumed or analyzed.
create function surefoot.about_rows(p_table regclass) returns bigint language plpgsql as $$
declare
    v_rows bigint;
begin
    if pg_relation_size(p_table) < 64 * 1024 * 1024 then
        execute format('select count(*) from %s', p_table) into v_rows;
    else
        select greatest(c.reltuples, 0)::bigint into v_rows from pg_class c where c.oid = p_table;
    end if;
    return v_rows;
end $$;

-- Drops the attempts and the effects of weeks of which no job is left anywhere.
create function surefoot.drop_records(p_cutoff bigint) returns void language plpgsql as $$
declare
    w record;
begin
    for w in
        select p.parent, a.suffix
        from unnest(array['attempt', 'effect']) p (parent) cross join lateral surefoot.weeks_of(p.parent) a
        where a.over_at < p_cutoff and to_regclass(format('surefoot.%I', 'job_history_' || a.suffix)) is null
            and not exists (select from surefoot.job j where j.id >= a.low and j.id < a.high)
            and not exists (select from surefoot.dead_letter d where d.id >= a.low and d.id < a.high)
            and not exists (select from surefoot.job_history_default h where h.id >= a.low and h.id < a.high)
    loop
        execute format('alter table surefoot.%I detach partition surefoot.%I', w.parent, w.parent || '_' || w.suffix);
        execute format('drop table surefoot.%I', w.parent || '_' || w.suffix);
    end loop;
exception when lock_not_available then
    null;
end $$;

-- Keeps history in shape; one caller at a time does it, the others answer that there is nothing to do.
create function surefoot.maintain(p_cutoff bigint, p_now bigint, out jobs_dropped bigint, out more boolean)
language plpgsql as $$
begin
    jobs_dropped := 0;
    more := false;
    if not pg_try_advisory_xact_lock(1398096455, hashtext('surefoot')) then
        return;
    end if;
    perform surefoot.prepare_partitions(p_now);
    select d.jobs_dropped, d.more into jobs_dropped, more from surefoot.drop_history(p_cutoff) d;
end $$;
