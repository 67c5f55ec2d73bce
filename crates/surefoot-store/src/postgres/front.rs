//! Where the first jobs of the lanes are. What was claimed leaves dead entries at the beginning of the index, until the
//! database has cleaned up, and as long as some old snapshot is open it cannot. A claim that had to read many of them
//! notes where it found what it took; the next ones begin there, and only now and then one reads all of it again, for
//! jobs that came to stand before those places or in other lanes. While reading from the beginning is cheap, it is done
//! each time and the order is exact.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use surefoot_core::id::{Kind, Queue};
use surefoot_core::job::LeasedJob;

/// A claim that reads more entries than this, and four for each job that it takes, had to pass by dead ones.
const CHEAP: i64 = 2_000;
/// How long claims begin at the front at least before one begins at the beginning again.
const TRUSTED_MIN: Duration = Duration::from_millis(100);
/// And for each entry that the last one read: ten times what reading it takes.
const TRUSTED_PER_ENTRY: Duration = Duration::from_micros(5);
/// The longest that a job before the front, or in another lane, may be passed by.
const TRUSTED_MAX: Duration = Duration::from_secs(2);
/// The most lanes that are remembered.
const LANES_MAX: usize = 1_000;

/// A lane: a queue, a kind, an urgency, which is a priority with its sign turned.
type Lane = (Queue, Kind, i16);
/// A place in a lane: due time, order of enqueuing.
pub(super) type Place = (i64, i64);

#[derive(Default)]
pub(super) struct Front {
    known: Mutex<Option<Known>>,
}

#[derive(Clone)]
struct Known {
    until: Instant,
    places: BTreeMap<Lane, Place>,
}

/// Places as the arrays that a claim takes.
#[derive(Default)]
pub(super) struct Places {
    pub(super) queues: Vec<String>,
    pub(super) kinds: Vec<String>,
    pub(super) urgencies: Vec<i16>,
    pub(super) due: Vec<i64>,
    pub(super) seq: Vec<i64>,
}

impl Front {
    /// Where to begin; `None` for the beginning.
    pub(super) fn places(&self, now: Instant) -> Option<Places> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known
            .as_ref()
            .filter(|known| now < known.until && !known.places.is_empty())?;
        let mut places = Places::default();
        for ((queue, kind, urgency), (due_at, seq)) in &known.places {
            places.queues.push(queue.as_str().to_owned());
            places.kinds.push(kind.as_str().to_owned());
            places.urgencies.push(*urgency);
            places.due.push(*due_at);
            places.seq.push(*seq);
        }
        Some(places)
    }

    /// Learns from a claim that began at the front or at the beginning, took these jobs, each with its place, and read so
    /// many entries.
    pub(super) fn learn(
        &self,
        from_front: bool,
        entries_read: i64,
        jobs: &[(Place, LeasedJob)],
        now: Instant,
    ) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = i64::try_from(jobs.len()).unwrap_or(i64::MAX);
        let cheap = entries_read <= CHEAP.saturating_add(taken.saturating_mul(4));
        if cheap && !from_front {
            *known = None;
            return;
        }
        let mut firsts: BTreeMap<Lane, Place> = BTreeMap::new();
        for (place, job) in jobs {
            let lane = (job.queue.clone(), job.kind.clone(), -job.priority);
            let first = firsts.entry(lane).or_insert(*place);
            *first = (*first).min(*place);
        }
        let before = known.take();
        let until = match &before {
            Some(known) if from_front => known.until,
            Some(_) | None => now + trusted(entries_read),
        };
        let mut places = before.map(|known| known.places).unwrap_or_default();
        // A claim from the beginning may find earlier places than those that were known.
        for (lane, first) in firsts {
            let place = places.entry(lane).or_insert(first);
            *place = if from_front {
                (*place).max(first)
            } else {
                first
            };
        }
        if places.len() > LANES_MAX {
            places.clear();
        }
        *known = Some(Known { until, places });
    }
}

fn trusted(entries_read: i64) -> Duration {
    let entries = u32::try_from(entries_read).unwrap_or(u32::MAX);
    (TRUSTED_MIN + TRUSTED_PER_ENTRY.saturating_mul(entries)).min(TRUSTED_MAX)
}

#[cfg(test)]
mod tests {
    use surefoot_core::id::{Epoch, JobId, Tenant, Worker};
    use surefoot_core::job::{Counts, Job, Run};
    use surefoot_core::payload::Payload;
    use surefoot_core::time::Timestamp;

    use super::*;

    fn job(queue: &str, place: Place) -> (Place, LeasedJob) {
        let run = Run {
            epoch: Epoch(1),
            worker: Worker::new("w").unwrap(),
            started_at: Timestamp::MIN,
            lease_until: Timestamp::MIN,
            recovery: None,
            cancel_requested: false,
        };
        let job = Job {
            id: JobId::new(Timestamp::MIN, [0; 10]),
            tenant: Tenant::single(),
            kind: Kind::new("k").unwrap(),
            key: None,
            queue: Queue::new(queue).unwrap(),
            priority: 0,
            order_key: None,
            concurrency_key: None,
            payload: Payload::null(),
            revision: 0,
            generation: 1,
            trace: None,
            enqueued_at: Timestamp::MIN,
            deadline_at: None,
            counts: Counts::default(),
            state: run,
        };
        (place, job)
    }

    #[test]
    fn cheap_claims_begin_at_the_beginning() {
        let (front, now) = (Front::default(), Instant::now());
        front.learn(false, 2_000, &[], now);
        front.learn(false, 6_000, &vec![job("a", (1, 1)); 1_000], now);
        assert!(front.places(now).is_none());
    }

    #[test]
    fn after_a_dear_claim_the_next_ones_begin_where_it_took() {
        let (front, now) = (Front::default(), Instant::now());
        front.learn(
            false,
            10_000,
            &[job("a", (7, 2)), job("a", (7, 1)), job("b", (3, 9))],
            now,
        );
        let places = front.places(now).unwrap();
        assert_eq!(
            (places.queues, places.due, places.seq),
            (vec!["a".into(), "b".into()], vec![7, 3], vec![1, 9])
        );
        front.learn(true, 10, &[job("a", (8, 4))], now);
        let places = front.places(now).unwrap();
        assert_eq!((places.due, places.seq), (vec![8, 3], vec![4, 9]));
        let later = now + Duration::from_millis(151);
        assert!(
            front.places(later).is_none(),
            "and then one begins at the beginning again"
        );
        front.learn(false, 10, &[], later);
        assert!(front.places(later).is_none());
    }

    #[test]
    fn nobody_is_passed_by_for_long() {
        assert_eq!(trusted(i64::MAX), TRUSTED_MAX);
        assert_eq!(trusted(0), TRUSTED_MIN);
    }
}
