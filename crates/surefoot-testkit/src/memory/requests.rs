//! Requests, each one lock of the table: what follows is decided by the core and kept as it is.

use std::collections::BTreeMap;

use async_trait::async_trait;
use surefoot_core::error::StoreError;
use surefoot_core::port::{
    BATCH_MAX, Forgotten, PAGE_MAX, RequestDepth, RequestFilter, RequestHead, RequestWritten,
    Requests,
};
use surefoot_core::request::{
    Arrived, Identity, NewRequest, Request, RequestId, RequestStateName, arrive,
};
use surefoot_core::time::Timestamp;

use super::MemoryStore;

/// All requests, by id, and who holds which key.
#[derive(Clone, Default)]
pub(super) struct RequestTable {
    rows: BTreeMap<RequestId, Request>,
    keys: BTreeMap<Identity, RequestId>,
}

impl RequestTable {
    fn known(&self, identity: &Identity) -> Option<&Request> {
        self.keys.get(identity).and_then(|id| self.rows.get(id))
    }

    fn keep(&mut self, request: &Request) {
        self.keys.insert(request.identity.clone(), request.id);
        self.rows.insert(request.id, request.clone());
    }

    fn begin(&mut self, new: &NewRequest, now: Timestamp) -> Arrived {
        let arrived = arrive(self.known(&new.identity), new, now);
        if let Arrived::Run(request) = &arrived {
            self.keep(request);
        }
        arrived
    }

    fn write(&mut self, request: &Request) -> RequestWritten {
        match self.rows.get(&request.id) {
            None => RequestWritten::Changed(None),
            Some(known) if known == request => RequestWritten::Already,
            Some(known) if known.version.checked_add(1) != Some(request.version) => {
                RequestWritten::Changed(Some(Box::new(known.clone())))
            }
            Some(_) => {
                self.keep(request);
                RequestWritten::Applied
            }
        }
    }

    fn due(&self, now: Timestamp, limit: usize) -> Vec<Request> {
        let due_at = |request: &Request| request.due_at().filter(|due_at| *due_at <= now);
        let mut due: Vec<_> = self
            .rows
            .values()
            .filter(|request| due_at(request).is_some())
            .collect();
        due.sort_by_key(|request| (due_at(request), request.id));
        due.into_iter().take(limit).cloned().collect()
    }

    fn list(
        &self,
        filter: &RequestFilter,
        before: Option<RequestId>,
        limit: usize,
    ) -> Vec<RequestHead> {
        self.rows
            .values()
            .rev()
            .filter(|request| {
                before.is_none_or(|before| request.id < before) && filter.matches(request)
            })
            .take(limit)
            .map(RequestHead::of)
            .collect()
    }

    fn depth(&self) -> RequestDepth {
        let mut depth = RequestDepth::default();
        for head in self.rows.values().map(RequestHead::of) {
            match head.state {
                RequestStateName::Claimed => depth.claimed += 1,
                RequestStateName::Unknown => depth.unknown += 1,
                RequestStateName::NeedsHuman => depth.needs_human += 1,
                RequestStateName::Finished
                | RequestStateName::Released
                | RequestStateName::Expired => {
                    continue;
                }
            }
            if head.state != RequestStateName::Claimed {
                let oldest = depth.oldest_unknown.unwrap_or(head.since);
                depth.oldest_unknown = Some(oldest.min(head.since));
            }
        }
        depth
    }

    fn forget(&mut self, now: Timestamp, limit: usize) -> Forgotten {
        let (stale, more_stale) =
            self.leaving(now, limit, |request| request.expires_at().is_some());
        for id in &stale {
            if let Some(expired) = self.rows.get(id).and_then(|request| request.expired(now)) {
                self.keep(&expired);
            }
        }
        let (over, more_over) = self.leaving(now, limit, |request| request.expires_at().is_none());
        for id in &over {
            if let Some(request) = self.rows.remove(id) {
                self.keys.remove(&request.identity);
            }
        }
        Forgotten {
            expired: stale.len() as u64,
            forgotten: over.len() as u64,
            more: more_stale || more_over,
        }
    }

    /// Of those that are to leave, the first, and whether there are more.
    fn leaving(
        &self,
        now: Timestamp,
        limit: usize,
        which: impl Fn(&Request) -> bool,
    ) -> (Vec<RequestId>, bool) {
        let mut leaving: Vec<_> = self
            .rows
            .values()
            .filter(|request| which(request))
            .filter_map(|request| request.leaves_at().map(|at| (at, request.id)))
            .filter(|(at, _)| *at <= now)
            .collect();
        leaving.sort_unstable();
        let more = leaving.len() > limit;
        leaving.truncate(limit);
        (leaving.into_iter().map(|(_, id)| id).collect(), more)
    }
}

#[async_trait]
impl Requests for MemoryStore {
    async fn begin(&self, new: &NewRequest, now: Timestamp) -> Result<Arrived, StoreError> {
        Ok(self.table().requests.begin(new, now))
    }

    async fn write_request(&self, request: &Request) -> Result<RequestWritten, StoreError> {
        Ok(self.table().requests.write(request))
    }

    async fn request(&self, identity: &Identity) -> Result<Option<Request>, StoreError> {
        Ok(self.table().requests.known(identity).cloned())
    }

    async fn request_by_id(&self, id: RequestId) -> Result<Option<Request>, StoreError> {
        Ok(self.table().requests.rows.get(&id).cloned())
    }

    async fn due_requests(&self, now: Timestamp, limit: u32) -> Result<Vec<Request>, StoreError> {
        Ok(self.table().requests.due(now, limit.min(PAGE_MAX) as usize))
    }

    async fn requests(
        &self,
        filter: &RequestFilter,
        before: Option<RequestId>,
        limit: u32,
    ) -> Result<Vec<RequestHead>, StoreError> {
        let limit = limit.min(PAGE_MAX) as usize;
        Ok(self.table().requests.list(filter, before, limit))
    }

    async fn request_depth(&self) -> Result<RequestDepth, StoreError> {
        Ok(self.table().requests.depth())
    }

    async fn forget_requests(&self, now: Timestamp, limit: u32) -> Result<Forgotten, StoreError> {
        let limit = (limit as usize).min(BATCH_MAX);
        Ok(self.table().requests.forget(now, limit))
    }
}
