//! The module ABI of pgflow 1.0 in Rust: the structs of <pgflow/module.h>, and safe handlers on
//! top of them. No crates. Nothing to change here for a flow of your own.

use std::ffi::c_void;
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null;

// ---- What a flow uses ----

/// Why an attempt fails.
#[allow(dead_code)]
pub enum Failure {
    /// The retry policy decides.
    Retry(String),
    /// Tried again after so many seconds.
    RetryAfter(String, u32),
    /// No retry would help.
    Permanent(String),
    /// Stopped because `is_cancelled()` said so.
    Cancelled,
}

/// The result as JSON text, or why there is none.
pub type Outcome = Result<String, Failure>;

/// One attempt of one task.
pub struct Call<'a> {
    raw: &'a RawCall,
}

#[allow(dead_code)]
impl Call<'_> {
    /// JSON: an object of what the dependencies gave; one element for a map.
    pub fn input(&self) -> &str {
        self.raw.input.text()
    }
    /// JSON: the run's input, in single steps without dependencies and with `wants_flow_input()`.
    pub fn flow_input(&self) -> &str {
        self.raw.flow_input.text()
    }
    pub fn run_id(&self) -> &str {
        self.raw.run_id.text()
    }
    /// From 1; effects must bear repetition.
    pub fn attempt(&self) -> u32 {
        self.raw.attempt
    }
    pub fn task_index(&self) -> i32 {
        self.raw.task_index
    }
    /// Ask often in long work.
    pub fn is_cancelled(&self) -> bool {
        unsafe { (self.raw.is_cancelled)(self.raw) != 0 }
    }
    pub fn log(&self, level: i32, text: &str) {
        let host = self.raw.host;
        unsafe { ((*host).log)(host, level, text.as_ptr(), text.len()) }
    }
}

#[allow(dead_code)]
pub mod level {
    pub const DEBUG: i32 = 0;
    pub const INFO: i32 = 1;
    pub const WARN: i32 = 2;
    pub const ERROR: i32 = 3;
}

/// A text of the descriptor.
#[macro_export]
macro_rules! text {
    ($text:literal) => {
        concat!($text, "\0").as_ptr() as *const std::os::raw::c_char
    };
}

/// `handler!(greet)`: a handler that calls `fn greet(call: &Call) -> Outcome`.
#[macro_export]
macro_rules! handler {
    ($function:path) => {{
        unsafe extern "C" fn run(_: *mut std::ffi::c_void, raw: *const $crate::pgflow::RawCall) -> i32 {
            $crate::pgflow::guard(raw, $function)
        }
        run
    }};
}

/// Slugs of earlier steps: `static AFTER: Names<1> = Names::of([text!("first")]);`
#[repr(C)]
pub struct Names<const N: usize> {
    slugs: [*const c_char; N],
    #[allow(dead_code)] // read by the host
    end: *const c_char,
}

impl<const N: usize> Names<N> {
    pub const fn of(slugs: [*const c_char; N]) -> Self {
        Names { slugs, end: null() }
    }
}

unsafe impl<const N: usize> Sync for Names<N> {}

// ---- The ABI ----

#[repr(C)]
pub struct Str {
    ptr: *const u8,
    len: usize,
}

impl Str {
    fn text(&self) -> &str {
        if self.len == 0 {
            return "";
        }
        // The host hands over UTF-8 only.
        unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.ptr, self.len)) }
    }
}

#[repr(C)]
pub struct RawHost {
    struct_size: u32,
    abi_minor: u32,
    ctx: *mut c_void,
    log: unsafe extern "C" fn(*const RawHost, i32, *const u8, usize),
    extension: unsafe extern "C" fn(*const RawHost, *const c_char) -> *const c_void,
}

#[repr(C)]
pub struct RawCall {
    struct_size: u32,
    attempt: u32,
    ctx: *mut c_void,
    host: *const RawHost,
    flow_slug: Str,
    step_slug: Str,
    run_id: Str,
    msg_id: i64,
    task_index: i32,
    max_attempts: i32,
    input: Str,
    flow_input: Str,
    deadline_ns: u64,
    write: unsafe extern "C" fn(*const RawCall, *const u8, usize) -> i32,
    set_error: unsafe extern "C" fn(*const RawCall, *const u8, usize),
    retry_after: unsafe extern "C" fn(*const RawCall, u32),
    alloc: unsafe extern "C" fn(*const RawCall, usize) -> *mut c_void,
    is_cancelled: unsafe extern "C" fn(*const RawCall) -> i32,
}

pub type Handler = unsafe extern "C" fn(*mut c_void, *const RawCall) -> i32;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Int {
    is_set: u32,
    value: i32,
}

/// Zero: inherited.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Options {
    struct_size: u32,
    reserved: u32,
    max_attempts: Int,
    base_delay_s: Int,
    timeout_s: Int,
    start_delay_s: Int,
}

#[allow(dead_code)]
impl Options {
    pub const fn new() -> Self {
        let inherit = Int { is_set: 0, value: 0 };
        Options {
            struct_size: std::mem::size_of::<Options>() as u32,
            reserved: 0,
            max_attempts: inherit,
            base_delay_s: inherit,
            timeout_s: inherit,
            start_delay_s: inherit,
        }
    }
    pub const fn max_attempts(mut self, value: i32) -> Self {
        self.max_attempts = Int { is_set: 1, value };
        self
    }
    pub const fn base_delay_s(mut self, value: i32) -> Self {
        self.base_delay_s = Int { is_set: 1, value };
        self
    }
    pub const fn timeout_s(mut self, value: i32) -> Self {
        self.timeout_s = Int { is_set: 1, value };
        self
    }
    pub const fn start_delay_s(mut self, value: i32) -> Self {
        self.start_delay_s = Int { is_set: 1, value };
        self
    }
}

#[repr(C)]
pub struct Step {
    struct_size: u32,
    kind: u32,
    flags: u32,
    reserved: u32,
    slug: *const c_char,
    deps: *const *const c_char,
    queue: *const c_char,
    options: *const Options,
    required_input: *const c_char,
    forbidden_input: *const c_char,
    when_unmet: *const c_char,
    when_exhausted: *const c_char,
    contract: *const c_char,
    run: Handler,
}

unsafe impl Sync for Step {}

#[allow(dead_code)]
impl Step {
    pub const fn new(slug: *const c_char, run: Handler) -> Self {
        Step {
            struct_size: std::mem::size_of::<Step>() as u32,
            kind: 0,
            flags: 0,
            reserved: 0,
            slug,
            deps: null(),
            queue: null(),
            options: null(),
            required_input: null(),
            forbidden_input: null(),
            when_unmet: null(),
            when_exhausted: null(),
            contract: null(),
            run,
        }
    }
    /// One task for each element of the array that the one dependency gives.
    pub const fn map(mut self) -> Self {
        self.kind = 1;
        self
    }
    pub const fn after<const N: usize>(mut self, names: &'static Names<N>) -> Self {
        self.deps = names.slugs.as_ptr();
        self
    }
    pub const fn wants_flow_input(mut self) -> Self {
        self.flags |= 1;
        self
    }
    pub const fn options(mut self, options: &'static Options) -> Self {
        self.options = options;
        self
    }
    /// For `queue_mode::ROUTED`.
    pub const fn on_queue(mut self, name: *const c_char) -> Self {
        self.queue = name;
        self
    }
    /// A JSON object that the input must contain.
    pub const fn required_input(mut self, pattern: *const c_char) -> Self {
        self.required_input = pattern;
        self
    }
    /// A JSON object that the input must not contain.
    pub const fn forbidden_input(mut self, pattern: *const c_char) -> Self {
        self.forbidden_input = pattern;
        self
    }
    /// "skip", "skip-cascade" or "fail".
    pub const fn when_unmet(mut self, word: *const c_char) -> Self {
        self.when_unmet = word;
        self
    }
    /// "fail", "skip" or "skip-cascade".
    pub const fn when_exhausted(mut self, word: *const c_char) -> Self {
        self.when_exhausted = word;
        self
    }
    /// What goes in and out, in your words; kept with the flow, and compared byte for byte.
    pub const fn contract(mut self, text: *const c_char) -> Self {
        self.contract = text;
        self
    }
}

#[allow(dead_code)]
pub mod queue_mode {
    /// One queue, called as the flow.
    pub const FLOW: u32 = 0;
    /// One for each step, `<flow>__<step>`.
    pub const STEP: u32 = 1;
    /// The one that each step names.
    pub const ROUTED: u32 = 2;
}

#[repr(C)]
pub struct Module {
    magic: u32,
    abi_major: u32,
    abi_minor: u32,
    struct_size: u32,
    needs_minor: u32,
    flags: u32,
    flow_slug: *const c_char,
    alias: *const c_char,
    version: *const c_char,
    queue_mode: u32,
    reserved: u32,
    options: *const Options,
    steps: *const Step,
    n_steps: u32,
    step_size: u32,
    init: Option<unsafe extern "C" fn(*const RawHost, *mut *mut c_void) -> i32>,
    fini: Option<unsafe extern "C" fn(*mut c_void)>,
    extension: Option<unsafe extern "C" fn(*const c_char) -> *const c_void>,
}

unsafe impl Sync for Module {}

#[allow(dead_code)]
impl Module {
    pub const fn new(flow_slug: *const c_char, steps: &'static [Step]) -> Self {
        Module {
            magic: 0x4D46_4750,
            abi_major: 1,
            abi_minor: 1,
            struct_size: std::mem::size_of::<Module>() as u32,
            needs_minor: 0,
            flags: 0,
            flow_slug,
            alias: null(),
            version: null(),
            queue_mode: 0,
            reserved: 0,
            options: null(),
            steps: steps.as_ptr(),
            n_steps: steps.len() as u32,
            step_size: std::mem::size_of::<Step>() as u32,
            init: None,
            fini: None,
            extension: None,
        }
    }
    pub const fn alias(mut self, alias: *const c_char) -> Self {
        self.alias = alias;
        self
    }
    pub const fn version(mut self, version: *const c_char) -> Self {
        self.version = version;
        self
    }
    pub const fn queue_mode(mut self, mode: u32) -> Self {
        self.queue_mode = mode;
        self
    }
    /// Any task may leave more threads, descriptors, child processes or signal handlers than the
    /// first one did; otherwise the host ends the process then. Needs a host of ABI 1.1.
    pub const fn may_grow(mut self) -> Self {
        self.flags |= 1;
        self.needs_minor = 1;
        self
    }
    /// For every step that sets none itself.
    pub const fn options(mut self, options: &'static Options) -> Self {
        self.options = options;
        self
    }
}

const OK: i32 = 0;
const ERROR: i32 = 1;
const PERMANENT: i32 = 2;
const CANCELLED: i32 = 3;

/// Runs a handler: its failure, or its panic, becomes the error of the attempt.
///
/// # Safety
/// `raw` is what the host handed to the handler.
pub unsafe fn guard(raw: *const RawCall, run: fn(&Call) -> Outcome) -> i32 {
    let raw = &*raw;
    let outcome = catch_unwind(AssertUnwindSafe(|| run(&Call { raw })));
    let (code, why) = match outcome {
        Ok(Ok(json)) => return write(raw, &json),
        Ok(Err(Failure::Retry(why))) => (ERROR, why),
        Ok(Err(Failure::RetryAfter(why, seconds))) => {
            (raw.retry_after)(raw, seconds);
            (ERROR, why)
        }
        Ok(Err(Failure::Permanent(why))) => (PERMANENT, why),
        Ok(Err(Failure::Cancelled)) => return CANCELLED,
        Err(panic) => (ERROR, format!("panicked: {}", panic_text(&*panic))),
    };
    (raw.set_error)(raw, why.as_ptr(), why.len());
    code
}

unsafe fn write(raw: &RawCall, json: &str) -> i32 {
    if (raw.write)(raw, json.as_ptr(), json.len()) == 0 {
        return OK;
    }
    let why = "the result is larger than the host takes";
    (raw.set_error)(raw, why.as_ptr(), why.len());
    PERMANENT
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "without a text"
    }
}

// The sizes of 1.0 on machines with 64-bit pointers.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(std::mem::size_of::<Options>() == 40);
    assert!(std::mem::size_of::<RawHost>() == 32);
    assert!(std::mem::size_of::<RawCall>() == 168);
    assert!(std::mem::size_of::<Step>() == 96);
    assert!(std::mem::size_of::<Module>() == 104);
};
