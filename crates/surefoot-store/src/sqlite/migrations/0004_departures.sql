-- Schema 4: the epoch under which it was last said that a delivery leaves for its sink, 0 when never.
alter table surefoot_delivery add column departed integer not null default 0;
