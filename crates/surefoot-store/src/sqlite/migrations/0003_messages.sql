-- Schema 3: messages of the outbox, their deliveries, receipts of the inbox. Times are microseconds since 1970.

-- What was appended. `number` is the order of arrival and never comes back; nothing is delivered by it. `deliveries` is how
-- many deliveries of it are on record: without one it may be forgotten.
create table surefoot_message (
    number integer primary key autoincrement,
    tenant text not null,
    id text not null,
    topic text not null,
    key text,
    payload text not null,
    trace text,
    appended_at integer not null,
    deliveries integer not null check (deliveries >= 0),
    unique (tenant, id)
) strict;
create index surefoot_message_leaving on surefoot_message (appended_at, number) where deliveries = 0;
create index surefoot_message_topic on surefoot_message (topic, number);

-- Which sink gets which topic; '*' is every topic, and no topic is called so.
create table surefoot_subscription (
    topic text not null,
    sink text not null,
    primary key (topic, sink)
) strict, without rowid;
create index surefoot_subscription_sink on surefoot_subscription (sink, topic);

-- One message to one sink. `place` is the order in which deliveries were made, which is the order within a line: the open
-- ones under one key of a tenant. Exactly one of a line stands in front, that with the lowest place; a delivery without a
-- key always does. Only who is in front is looked at by a take. `due_at` is the earliest time
-- of the next try, and a take leaves it as it is; epoch and holder are those of the latest take, and stay when it ends.
create table surefoot_delivery (
    place integer primary key autoincrement,
    sink text not null,
    number integer not null,
    tenant text not null,
    key text,
    state text not null check (state in ('waiting', 'taken', 'delivered', 'parked', 'skipped')),
    standing text check (standing in ('front', 'behind')),
    due_at integer not null,
    failed integer not null default 0,
    lost integer not null default 0,
    epoch integer not null default 0,
    holder text,
    lease_until integer,
    error text,
    since integer,
    proof text,
    actor text,
    reason text,
    unique (sink, number),
    check ((standing is null) = (state in ('delivered', 'skipped'))),
    check (state <> 'taken' or (holder is not null and lease_until is not null)),
    check ((since is null) = (state in ('waiting', 'taken'))),
    check (standing is not 'behind' or (key is not null and state in ('waiting', 'taken')))
) strict;
create index surefoot_delivery_front on surefoot_delivery (sink, due_at, number)
    where standing = 'front' and state in ('waiting', 'taken');
create unique index surefoot_delivery_one_front on surefoot_delivery (sink, tenant, key)
    where standing = 'front' and key is not null;
create index surefoot_delivery_line on surefoot_delivery (sink, tenant, key, place)
    where standing is not null and key is not null;
create index surefoot_delivery_open on surefoot_delivery (sink, state, number) where standing is not null;
create index surefoot_delivery_parked on surefoot_delivery (number, sink) where state = 'parked';
create index surefoot_delivery_ended on surefoot_delivery (since, number, sink) where standing is null;
create index surefoot_delivery_message on surefoot_delivery (number);

-- The latest epoch of a take.
create table surefoot_delivery_epoch (
    latest integer not null
) strict;
insert into surefoot_delivery_epoch (latest) values (0);

-- What people ordered about deliveries; it leaves with its message.
create table surefoot_delivery_order (
    number integer not null,
    place integer not null,
    sink text not null,
    verb text not null check (verb in ('again', 'skip')),
    at integer not null,
    actor text not null,
    reason text not null,
    primary key (number, place)
) strict, without rowid;

-- What was accepted: the primary key is the arbiter of who is first.
create table surefoot_receipt (
    tenant text not null,
    source text not null,
    message text not null,
    consumer text not null,
    accepted_at integer not null,
    primary key (tenant, source, message, consumer)
) strict, without rowid;
create index surefoot_receipt_leaving on surefoot_receipt (accepted_at, tenant, source, message, consumer);
