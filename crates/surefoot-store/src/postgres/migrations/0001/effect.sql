-- Schema 1, effects: what is known of them, and what concerns a job whose outcome is in doubt.

-- Finds a job, in whatever state, and locks it where it stands, so that nobody ends its lease or moves it meanwhile.
-- Answers under which epoch it runs, 0 where it does not run, and null when there is no such job.
create function surefoot.hold_job(p_job uuid) returns bigint language plpgsql as $$
declare
    v_epoch bigint;
begin
    -- A job that moves between the tables is in one of them when it is looked for again.
    for v_look in 1..3 loop
        select case when j.state = 'running' then j.epoch else 0 end into v_epoch
        from surefoot.job j where j.id = p_job for no key update;
        if found then
            return v_epoch;
        end if;
        perform from surefoot.dead_letter d where d.id = p_job for no key update;
        if found then
            return 0;
        end if;
        perform from surefoot.job_history h where h.id = p_job for no key update;
        if found then
            return 0;
        end if;
    end loop;
    return null;
end $$;

-- Writes effects down, each when it follows on the one on record and, under a fence (p_epochs), while its job runs under
-- that epoch. Items stand in the order of their jobs, so that batches that overlap lock them in one order; within a job
-- they follow on one another. Answers for each item 0 (applied), 1 (it is on record already), 2 (stale), 3 (another one
-- is on record, or none) or 4 (no such job), and with 3 the document on record.
create function surefoot.write_effects(
    p_jobs uuid[], p_places bigint[], p_versions bigint[], p_documents text[], p_epochs bigint[], p_until bigint[])
returns table (answer smallint, known text)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    i record;
    v_job uuid;
    v_epoch bigint;
begin
    for i in
        select * from unnest(p_jobs, p_places, p_versions, p_documents, p_epochs, p_until) with ordinality
            t (job, place, version, document, epoch, until, number)
        order by t.number
    loop
        if i.job is distinct from v_job then
            v_job := i.job;
            v_epoch := surefoot.hold_job(i.job);
        end if;
        answer := 0;
        known := null;
        if v_epoch is null then
            answer := 4;
            return next;
            continue;
        end if;
        if i.epoch is null or i.epoch = v_epoch then
            if i.version = 1 then
                insert into surefoot.effect as e (job, place, version, document)
                values (i.job, i.place, i.version, i.document)
                on conflict (job, place) do nothing;
            else
                update surefoot.effect e set version = i.version, document = i.document
                where e.job = i.job and e.place = i.place and e.version = i.version - 1;
            end if;
            if found then
                -- A witness has no lease to extend.
                if i.epoch is not null and i.until is not null then
                    update surefoot.job j set due_at = greatest(j.due_at, i.until)
                    where j.id = i.job and j.epoch = i.epoch and j.due_at < i.until;
                end if;
                return next;
                continue;
            end if;
        end if;
        select e.document into known from surefoot.effect e where e.job = i.job and e.place = i.place;
        answer := case
            when known = i.document then 1
            when i.epoch <> v_epoch then 2
            else 3
        end;
        if answer <> 3 then
            known := null;
        end if;
        return next;
    end loop;
end $$;

-- Makes a verifying job due at p_now where it was due later. Answers whether it is verifying.
create function surefoot.hasten(p_job uuid, p_now bigint) returns boolean language plpgsql as $$
begin
    update surefoot.job j
    set due_at = least(j.due_at, p_now),
        readiness = case when j.readiness = 'scheduled'
            then surefoot.standing(j.order_key, j.concurrency_key, least(j.due_at, p_now), p_now)
            else j.readiness end
    where j.id = p_job and j.state = 'verifying';
    return found;
end $$;

-- Keeps what a holder said after its attempt was settled without it; the first word stays. Answers whether there is such
-- an attempt.
create function surefoot.late(p_job uuid, p_epoch bigint, p_said text) returns boolean language plpgsql as $$
begin
    update surefoot.attempt a set late = coalesce(a.late, p_said)
    where a.job = p_job and a.epoch = p_epoch and a.outcome = 'lost';
    if found then
        return true;
    end if;
    update surefoot.job_history h set late = coalesce(h.late, p_said)
    where h.id = p_job and h.epoch = p_epoch and h.outcome = 'lost';
    return found;
end $$;
