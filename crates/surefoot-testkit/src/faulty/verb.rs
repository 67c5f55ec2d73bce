//! The verbs by name, to script and count faults.

/// A verb of a port, of its heart or of its announcements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    missing_docs,
    reason = "each is the verb of the port with the same name"
)]
pub enum Verb {
    Enqueue,
    Advance,
    Extend,
    Heart,
    /// `Heart::beat`.
    Beat,
    Late,
    Lapsed,
    Expire,
    WriteEffects,
    Effects,
    Hasten,
    Cancel,
    Replay,
    Ignore,
    Edit,
    Pause,
    Resume,
    Pauses,
    Job,
    Find,
    Jobs,
    DeadGroups,
    Depth,
    Maintain,
    DatabaseNow,
    Announce,
    Announcements,
    /// `Announcements::next`.
    NextAnnouncement,
    /// `Requests::begin`, and those after it of the same port.
    Begin,
    WriteRequest,
    Request,
    RequestById,
    DueRequests,
    Requests,
    RequestDepth,
    ForgetRequests,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Self; 36] = [
        Self::Enqueue,
        Self::Advance,
        Self::Extend,
        Self::Heart,
        Self::Beat,
        Self::Late,
        Self::Lapsed,
        Self::Expire,
        Self::WriteEffects,
        Self::Effects,
        Self::Hasten,
        Self::Cancel,
        Self::Replay,
        Self::Ignore,
        Self::Edit,
        Self::Pause,
        Self::Resume,
        Self::Pauses,
        Self::Job,
        Self::Find,
        Self::Jobs,
        Self::DeadGroups,
        Self::Depth,
        Self::Maintain,
        Self::DatabaseNow,
        Self::Announce,
        Self::Announcements,
        Self::NextAnnouncement,
        Self::Begin,
        Self::WriteRequest,
        Self::Request,
        Self::RequestById,
        Self::DueRequests,
        Self::Requests,
        Self::RequestDepth,
        Self::ForgetRequests,
    ];
}
