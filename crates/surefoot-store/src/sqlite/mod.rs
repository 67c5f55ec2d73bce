//! The port on one SQLite file.
