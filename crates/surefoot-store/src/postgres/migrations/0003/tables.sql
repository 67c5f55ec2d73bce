-- Schema 3, messages of the outbox, their deliveries, receipts of the inbox. Times are microseconds since 1970. Texts compare
-- by their bytes, as in Rust.

-- What was appended. `number` is given when a transaction appends, and says nothing of when it commits: nothing is delivered
-- by it. `deliveries` is how many deliveries of it are on record: without one it may be forgotten.
create table surefoot.message (
    number bigint not null generated always as identity,
    tenant text collate "C" not null,
    id text collate "C" not null,
    topic text collate "C" not null,
    key text collate "C",
    payload text not null,
    trace text,
    appended_at bigint not null,
    deliveries integer not null check (deliveries >= 0),
    constraint message_pkey primary key (number),
    constraint message_id unique (tenant, id)
) with (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
create index message_leaving on surefoot.message (appended_at, number) where deliveries = 0;
create index message_topic on surefoot.message (topic, number);

-- Which sink gets which topic; '*' is every topic, and no topic is called so.
create table surefoot.subscription (
    topic text collate "C" not null,
    sink text collate "C" not null,
    constraint subscription_pkey primary key (topic, sink)
);
create index subscription_sink on surefoot.subscription (sink, topic);

-- One row, which every change of subscriptions changes: an append in a transaction with an old view is refused by it.
create table surefoot.subscription_version (version bigint not null);
insert into surefoot.subscription_version (version) values (0);

-- One message to one sink. `place` is the order in which deliveries were made, which is the order within a line: the open
-- ones under one key of a tenant. `standing` says where a delivery stands: `fresh` ones have not been looked at; one of a
-- line stands in `front`, that with the lowest place; the others stand `behind`. A delivery without a key is always in
-- front. Only who holds the gate of a sink changes who stands where. `due_at` is the earliest time of the next try, and a
-- take leaves it as it is; epoch and holder are those of the latest take, and stay when it ends.
create table surefoot.delivery (
    place bigint not null generated always as identity,
    sink text collate "C" not null,
    number bigint not null,
    tenant text collate "C" not null,
    key text collate "C",
    state text collate "C" not null check (state in ('waiting', 'taken', 'delivered', 'parked', 'skipped')),
    standing text collate "C" check (standing in ('fresh', 'front', 'behind')),
    due_at bigint not null,
    failed integer not null default 0,
    lost integer not null default 0,
    epoch bigint not null default 0,
    holder text,
    lease_until bigint,
    error text,
    since bigint,
    proof text,
    actor text,
    reason text,
    constraint delivery_pkey primary key (sink, number),
    check ((standing is null) = (state in ('delivered', 'skipped'))),
    check (state <> 'taken' or (holder is not null and lease_until is not null)),
    check ((since is null) = (state in ('waiting', 'taken')))
) with (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
create index delivery_front on surefoot.delivery (sink, due_at, number)
    where standing = 'front' and state in ('waiting', 'taken');
create unique index delivery_one_front on surefoot.delivery (sink, tenant, key)
    where standing = 'front' and key is not null;
create index delivery_fresh on surefoot.delivery (sink, place) where standing = 'fresh';
create index delivery_line on surefoot.delivery (sink, tenant, key, place) where standing is not null and key is not null;
create index delivery_open on surefoot.delivery (sink, state, number) where standing is not null;
create index delivery_parked on surefoot.delivery (number, sink) where state = 'parked';
create index delivery_ended on surefoot.delivery (since, number, sink) where standing is null;
create index delivery_message on surefoot.delivery (number);

-- Epochs of takes: given once, whatever becomes of the transaction.
create sequence surefoot.delivery_epoch;

-- What people ordered about deliveries; it leaves with its message.
create table surefoot.delivery_order (
    number bigint not null,
    place bigint not null generated always as identity,
    sink text collate "C" not null,
    verb text collate "C" not null check (verb in ('again', 'skip')),
    at bigint not null,
    actor text not null,
    reason text not null,
    constraint delivery_order_pkey primary key (number, place)
);

-- What was accepted: the primary key is the arbiter of who is first.
create table surefoot.receipt (
    tenant text collate "C" not null,
    source text collate "C" not null,
    message text collate "C" not null,
    consumer text collate "C" not null,
    accepted_at bigint not null,
    constraint receipt_pkey primary key (tenant, source, message, consumer)
);
create index receipt_leaving on surefoot.receipt (accepted_at);
