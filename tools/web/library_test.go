package web

import (
	"strings"
	"testing"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
)

// TestLibraryRefusesDeepPages fails when html-to-markdown converts pages of any depth: then Markdown does not need
// PlainText.
func TestLibraryRefusesDeepPages(t *testing.T) {
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin()))
	page := strings.Repeat("<div>", 600) + "deep" + strings.Repeat("</div>", 600)
	if text, err := c.ConvertString(page); err == nil {
		t.Errorf("converted: %q", text)
	}
}
