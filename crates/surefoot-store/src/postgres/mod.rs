//! The port on PostgreSQL 13 and newer.
