//! Submissions graded by a slow model that is asked over HTTP.
//!
//! [`grading`] is what a reader would copy first: the job, its one effect, and the commit in which the grade becomes final.
//! [`model`] is the client of the model; [`book`] keeps what it said on every try; [`routes`] is what students see;
//! [`settings`] holds every time and address; [`service`] puts it together.

pub mod book;
pub mod grading;
pub mod model;
pub mod routes;
pub mod service;
pub mod settings;

/// What can go wrong in the example itself.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;
