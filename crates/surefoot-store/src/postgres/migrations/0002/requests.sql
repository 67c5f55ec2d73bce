-- Schema 2, requests of the front door. Times are microseconds since 1970. Texts compare by their bytes, as in Rust.

-- One row for each (tenant, key): the primary key is the arbiter of who runs. What was asked (method to claimed_at) never
-- changes; what is known of it stands in the document, and the body of its answer beside it. `due_at` is when somebody has
-- to look at an open request, `leaves_at` when something of a closed one leaves; no row has both.
create table surefoot.request (
    tenant text collate "C" not null,
    key text collate "C" not null,
    id uuid not null,
    method text not null,
    route text not null,
    fingerprint_version integer not null,
    fingerprint bytea not null,
    fields text not null,
    claimed_at bigint not null,
    version bigint not null,
    state text collate "C" not null
        check (state in ('claimed', 'finished', 'unknown', 'needs_human', 'released', 'expired')),
    since bigint not null,
    due_at bigint,
    leaves_at bigint,
    document text not null,
    body bytea,
    constraint request_pkey primary key (tenant, key),
    check (body is null or state = 'finished'),
    check (due_at is null or state in ('claimed', 'unknown')),
    check ((leaves_at is null) = (state in ('claimed', 'unknown', 'needs_human')))
) with (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
create unique index request_id on surefoot.request (id);

-- What is open, which stays small.
create index request_open on surefoot.request (state, due_at, id) where state in ('claimed', 'unknown', 'needs_human');

-- What leaves next: answers, and records without one.
create index request_expiring on surefoot.request (leaves_at, id) where state = 'finished';
create index request_leaving on surefoot.request (leaves_at, id) where state in ('expired', 'released');

-- The lock of a key for the rest of the transaction, if nobody else has it. An insert that meets an open transaction's row
-- would wait for that transaction; who does not get this lock knows at once that a twin is open.
create function surefoot.hold_request(p_tenant text, p_key text) returns boolean language sql volatile as $$
    select pg_try_advisory_xact_lock(hashtextextended('surefoot' || ' ' || p_tenant || ' ' || p_key, 0))
$$;

-- Claims a key, or says who holds it: answers the row that holds it, which is the one written here when nobody did. No row
-- means that an open transaction is about to claim it.
create function surefoot.begin_request(
    p_tenant text, p_key text, p_id uuid, p_method text, p_route text, p_fingerprint_version integer,
    p_fingerprint bytea, p_fields text, p_claimed_at bigint, p_version bigint, p_state text, p_since bigint,
    p_due_at bigint, p_leaves_at bigint, p_document text)
returns setof surefoot.request language plpgsql as $$
begin
    -- The way of a repetition, which is answered by one look. It decides nothing: the insert does.
    return query select r.* from surefoot.request r where r.tenant = p_tenant and r.key = p_key;
    if found or not surefoot.hold_request(p_tenant, p_key) then
        return;
    end if;
    return query
        insert into surefoot.request as r (
            tenant, key, id, method, route, fingerprint_version, fingerprint, fields, claimed_at, version, state, since,
            due_at, leaves_at, document)
        values (
            p_tenant, p_key, p_id, p_method, p_route, p_fingerprint_version, p_fingerprint, p_fields, p_claimed_at,
            p_version, p_state, p_since, p_due_at, p_leaves_at, p_document)
        on conflict on constraint request_pkey do nothing
        returning r.*;
    if not found then
        return query select r.* from surefoot.request r where r.tenant = p_tenant and r.key = p_key;
    end if;
end $$;

-- Claims a released request once more. Answers whether it still was as it had been read; null when an open transaction is
-- about to claim it.
create function surefoot.begin_request_again(
    p_tenant text, p_key text, p_id uuid, p_version bigint, p_state text, p_since bigint, p_due_at bigint,
    p_leaves_at bigint, p_document text)
returns boolean language plpgsql as $$
begin
    if not surefoot.hold_request(p_tenant, p_key) then
        return null;
    end if;
    update surefoot.request r
    set version = p_version, state = p_state, since = p_since, due_at = p_due_at, leaves_at = p_leaves_at,
        document = p_document, body = null
    where r.id = p_id and r.version = p_version - 1;
    return found;
end $$;
