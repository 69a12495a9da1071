package wiretest

import (
	"encoding/json"
	"net/http"

	"github.com/millhand/millhand/internal/model"
)

// codes are the codes of OpenAI for a class, as far as it has a word for it.
var codes = map[model.ErrorClass]string{
	model.ClassAuth:    "invalid_api_key",
	model.ClassUnknown: "model_not_found",
	model.ClassQuota:   "insufficient_quota",
	model.ClassContext: "context_length_exceeded",
	model.ClassRate:    "rate_limit_exceeded",
	model.ClassScript:  "script",
}

// kinds are those of Anthropic for a class.
var kinds = map[model.ErrorClass]string{
	model.ClassAuth:        "authentication_error",
	model.ClassUnknown:     "not_found_error",
	model.ClassQuota:       "billing_error",
	model.ClassContext:     "invalid_request_error",
	model.ClassRate:        "rate_limit_error",
	model.ClassUnavailable: "overloaded_error",
}

// refuse responds with an error in the form of the wire.
func refuse(w http.ResponseWriter, on Wire, status int, class model.ErrorClass, message string) {
	type failure struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Code    *string `json:"code"`
	}
	var body any
	if on == Messages {
		kind, ok := kinds[class]
		if !ok {
			kind = "invalid_request_error"
		}
		if class == model.ClassContext { // it has no word for it
			message = "prompt is too long: " + message
		}
		body = object{"type": "error", "error": object{"type": kind, "message": message}}
	} else {
		said := failure{Message: message, Type: "scripted"}
		if code, ok := codes[class]; ok {
			said.Code = &code
		}
		body = map[string]failure{"error": said}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that is gone learns nothing
}
