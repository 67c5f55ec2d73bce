//! Ids that sort by the time of their making: UUIDs of version 7, from a time and random bytes that the caller has.

use uuid::Uuid;

use crate::time::Timestamp;

/// A UUID version 7.
pub(crate) fn uuid(now: Timestamp, random: [u8; 10]) -> Uuid {
    let millis = u64::try_from(now.as_micros() / 1000).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

/// An id as a type of its own, with the error of a text that is none.
macro_rules! time_ordered_id {
    ($(#[$doc:meta])* $name:ident, $error:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(uuid::Uuid);

        impl $name {
            /// An id from the time of its making and 10 random bytes.
            #[must_use]
            pub fn new(now: crate::time::Timestamp, random: [u8; 10]) -> Self {
                Self(crate::id::uuid(now, random))
            }

            /// An id that was read from a store.
            #[must_use]
            pub const fn from_uuid(uuid: uuid::Uuid) -> Self {
                Self(uuid)
            }

            /// As a UUID.
            #[must_use]
            pub const fn as_uuid(self) -> uuid::Uuid {
                self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                uuid::Uuid::try_parse(text).map(Self).map_err(|_| $error)
            }
        }

        #[doc = concat!("A text that is not a ", $what, " id.")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
        #[error("not a {what} id; it looks like 01890a5d-ac96-774b-bcce-b302099a8057", what = $what)]
        pub struct $error;
    };
}
pub(crate) use time_ordered_id;

time_ordered_id!(
    /// A job's id: a UUID version 7, so ids of later jobs sort later.
    JobId, JobIdError, "job"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_later_jobs_sort_later_and_read_back() {
        let early = JobId::new(Timestamp::from_micros(1_000_000), [0xff; 10]);
        let late = JobId::new(Timestamp::from_micros(1_001_000), [0; 10]);
        assert!(early < late);
        assert_eq!(early.to_string().parse(), Ok(early));
        assert_eq!("nonsense".parse::<JobId>(), Err(JobIdError));
    }
}
