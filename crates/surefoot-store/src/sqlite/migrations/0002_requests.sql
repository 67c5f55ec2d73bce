-- Schema 2: requests of the front door. Times are microseconds since 1970.

-- One row for each (tenant, key): the primary key is the arbiter of who runs. What was asked (method to claimed_at) never
-- changes; what is known of it stands in the document, and the body of its answer beside it. `due_at` is when somebody has
-- to look at an open request, `leaves_at` when something of a closed one leaves; no row has both.
create table surefoot_request (
    tenant text not null,
    key text not null,
    id blob not null,
    method text not null,
    route text not null,
    fingerprint_version integer not null,
    fingerprint blob not null,
    fields text not null,
    claimed_at integer not null,
    version integer not null,
    state text not null
        check (state in ('claimed', 'finished', 'unknown', 'needs_human', 'released', 'expired')),
    since integer not null,
    due_at integer,
    leaves_at integer,
    document text not null,
    body blob,
    primary key (tenant, key),
    check (body is null or state = 'finished'),
    check (due_at is null or state in ('claimed', 'unknown')),
    check ((leaves_at is null) = (state in ('claimed', 'unknown', 'needs_human')))
) strict;
create unique index surefoot_request_id on surefoot_request (id);

-- What is open, which stays small. A claimed or unknown request is due; one that needs a person is not.
create index surefoot_request_open on surefoot_request (state, due_at, id)
    where state in ('claimed', 'unknown', 'needs_human');

-- What leaves next: answers first, records later.
create index surefoot_request_leaving on surefoot_request (state, leaves_at, id) where leaves_at is not null;
