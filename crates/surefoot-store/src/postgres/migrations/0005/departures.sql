-- Schema 5, a delivery that is about to leave says so, because a holder may have been lost before it had one.

-- `departed` is the epoch under which it was last said, 0 when never.
alter table surefoot.delivery add column departed bigint not null default 0;

-- Says of deliveries that they are about to leave; answers those that are taken under their epoch and in front. It changes
-- nobody's standing, so it needs no gate.
create function surefoot.depart_deliveries(p_sinks text[], p_numbers bigint[], p_epochs bigint[])
returns table (sink text, number bigint, epoch bigint)
language sql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
    update surefoot.delivery d set departed = d.epoch
    from unnest(p_sinks, p_numbers, p_epochs) i (sink, number, epoch)
    where d.sink = i.sink and d.number = i.number and d.epoch = i.epoch and d.state = 'taken' and d.standing = 'front'
    returning d.sink, d.number, d.epoch
$$;

-- Takes deliveries for a holder: those in front and due, the longest due first, each with as many as stand behind it. The
-- rows of one key follow one another, under one epoch. Whoever finds that there is nothing has waited for nobody. A lease that
-- ended counts as lost when it is the first one, and after that when its holder had said that the delivery leaves.
create or replace function surefoot.take_deliveries(
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
                lost = d.lost + (
                    f.lapsed and d.number = f.number and (d.lost = 0 or d.departed = d.epoch))::integer
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
