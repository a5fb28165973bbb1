//! Calls the steps of the built module with the test kit of the SDK.

use std::ffi::{c_void, CStr, CString};
use std::os::raw::c_char;

extern "C" {
    fn pgf_test_open(path: *const c_char) -> *mut c_void;
    fn pgf_test_problem(test: *const c_void) -> *const c_char;
    fn pgf_test_close(test: *mut c_void);
    fn pgf_test_call(test: *mut c_void, step: *const c_char, input: *const c_char) -> i32;
    fn pgf_test_output(test: *const c_void) -> *const c_char;
    fn pgf_test_error(test: *const c_void) -> *const c_char;
}

struct Flow(*mut c_void);

impl Flow {
    fn open() -> Flow {
        let path = CString::new("build/my_flow_v1.so").unwrap();
        let flow = Flow(unsafe { pgf_test_open(path.as_ptr()) });
        let problem = unsafe { pgf_test_problem(flow.0) };
        assert!(problem.is_null(), "{:?}", unsafe { CStr::from_ptr(problem) });
        flow
    }

    /// What the step answers (0: PGF_OK), and its output or its error.
    fn call(&self, step: &str, input: &str) -> (i32, String) {
        let step = CString::new(step).unwrap();
        let input = CString::new(input).unwrap();
        unsafe {
            let code = pgf_test_call(self.0, step.as_ptr(), input.as_ptr());
            let text = if code == 0 { pgf_test_output(self.0) } else { pgf_test_error(self.0) };
            (code, CStr::from_ptr(text).to_str().unwrap().to_string())
        }
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        unsafe { pgf_test_close(self.0) }
    }
}

#[test]
fn each_step_gives_what_it_should() {
    let flow = Flow::open();

    assert_eq!(flow.call("count_up", "3"), (0, "[1,2,3]".to_string()));
    assert_eq!(flow.call("square", "-3"), (0, "9".to_string()));
    assert_eq!(flow.call("add_up", "{\"square\": [1, 4, 9]}"), (0, "14".to_string()));
}

#[test]
fn a_text_is_refused_for_good() {
    let (code, error) = Flow::open().call("count_up", "\"three\"");

    assert_eq!(code, 2);
    assert!(error.contains("whole number"), "{}", error);
}
