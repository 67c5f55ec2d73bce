//! Jobs, claims and stores in their plainest form.
