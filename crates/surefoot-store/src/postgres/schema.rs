//! The schema's name in statements. They are constants that say `surefoot`; for another schema each is rewritten once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr};

/// The name that constants use.
const WRITTEN: &str = "surefoot";

/// A checked name of a schema.
pub(super) struct Schema {
    name: String,
    /// By the address of the constant, of which there are a few dozen.
    rewritten: Mutex<HashMap<usize, Arc<str>>>,
}

impl Schema {
    /// A schema whose name [`PostgresOptions::validate`](super::PostgresOptions::validate) accepts.
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            rewritten: Mutex::default(),
        }
    }

    /// Also the channel of its announcements.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The statement for this schema.
    pub(super) fn sql(&self, statement: &'static str) -> SqlStr {
        if self.name == WRITTEN {
            return statement.into_sql_str();
        }
        let mut rewritten = self
            .rewritten
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let text = rewritten
            .entry(statement.as_ptr() as usize)
            .or_insert_with(|| self.rewrite(statement).into());
        AssertSqlSafe(text.clone()).into_sql_str()
    }

    /// `surefoot.` is how every table and function is named, `'surefoot'` how the schema is named as a value.
    pub(super) fn rewrite(&self, sql: &str) -> String {
        sql.replace("surefoot.", &format!("{}.", self.name))
            .replace("'surefoot'", &format!("'{}'", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_names_its_schema() {
        const SQL: &str =
            "-- find\nselect job from surefoot.job_key where pg_notify('surefoot', $1)";
        assert_eq!(Schema::new("surefoot").sql(SQL).as_str(), SQL);
        let other = Schema::new("jobs");
        for _ in 0..2 {
            assert_eq!(
                other.sql(SQL).as_str(),
                "-- find\nselect job from jobs.job_key where pg_notify('jobs', $1)"
            );
        }
    }
}
